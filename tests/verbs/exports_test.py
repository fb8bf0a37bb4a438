"""The drop-in libibverbs exports what the library of the distribution exports, and nothing else."""
import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
SUPERSEDED = os.environ["IRPVERBS_SUPERSEDED"]
OURS = FOLDER / "libibverbs.so.1"


def symbols(file, which="--defined-only"):
    """The dynamic symbols with their versions: T function, B data, A version, U defined elsewhere."""
    lines = subprocess.run(["nm", "-D", "--format=posix", which, "--with-symbol-versions", file],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    return dict(line.split()[:2] for line in lines)


def of_distribution():
    """The path of the library that programs load without us."""
    lines = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[-1] for line in lines.splitlines() if "libibverbs.so.1 " in line)


class Exports(unittest.TestCase):
    def test_symbols_and_versions_are_those_of_the_distribution(self):
        self.assertEqual(symbols(OURS), symbols(of_distribution()))

    def test_program_linked_before_2007_is_refused_by_every_function(self):
        """The program calls every name whose version is not the default."""
        called = {name for name in symbols(SUPERSEDED, "--undefined-only") if "@IBVERBS_" in name}
        self.assertEqual(called, {name for name in symbols(of_distribution()) if "@" in name and "@@" not in name})
        for hca in ("", "software:"):
            environment = dict(os.environ, LD_LIBRARY_PATH=str(FOLDER), IRPVERBS_HCA=hca)
            done = subprocess.run([SUPERSEDED], env=environment, capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_core_exports_its_border_only(self):
        exported = symbols(FOLDER / "libirpverbs-drop-in.so")
        strange = [name for name in exported if not name.startswith(("irpverbs_", "IRPVERBS_"))]
        self.assertEqual(strange, [])

    def test_libraries_have_no_constructors_that_act(self):
        """A process that loads the library has no more threads, descriptors or output."""
        code = ("import ctypes, os\n"
                "before = sorted(os.listdir('/proc/self/fd'))\n"
                f"ctypes.CDLL('{OURS}')\n"
                "assert sorted(os.listdir('/proc/self/fd')) == before\n"
                "assert len(os.listdir('/proc/self/task')) == 1\n")
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def run_python(self, code):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(FOLDER), IRPVERBS_HCA="software:")
        done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True,
                              text=True, timeout=60)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_providers_libraries_load_and_find_no_device_of_theirs(self):
        self.run_python("import ctypes\n"
                        "verbs = ctypes.CDLL('libibverbs.so.1')\n"
                        "verbs.ibv_get_device_list.restype = ctypes.POINTER(ctypes.c_void_p)\n"
                        "device = ctypes.c_void_p(verbs.ibv_get_device_list(None)[0])\n"
                        "is_supported = ctypes.CDLL('libmlx5.so.1').mlx5dv_is_supported\n"
                        "is_supported.restype = ctypes.c_bool\n"
                        "assert not is_supported(device)\n"
                        "ctypes.CDLL('libefa.so.1')\n")

    def test_library_that_was_used_may_be_closed(self):
        self.run_python("import _ctypes, ctypes\n"
                        "library = ctypes.CDLL('libibverbs.so.1')\n"
                        "library.ibv_get_device_list(None)\n"
                        "_ctypes.dlclose(library._handle)\n")

    def test_names_and_rates_are_those_of_the_distribution(self):
        code = ("import ctypes, sys\n"
                "library = ctypes.CDLL(sys.argv[1])\n"
                "for name in ('node_type', 'port_state', 'event_type', 'wc_status'):\n"
                "    function = getattr(library, f'ibv_{name}_str')\n"
                "    function.restype = ctypes.c_char_p\n"
                "    print([function(value) for value in range(-1, 40)])\n"
                "print([(library.ibv_rate_to_mult(r), library.ibv_rate_to_mbps(r)) for r in range(40)])\n"
                "print([library.mult_to_ibv_rate(m) for m in range(600)])\n"
                "print([library.mbps_to_ibv_rate(library.ibv_rate_to_mbps(r) + more)\n"
                "       for r in range(40) for more in (-1, 0, 1)])\n")
        outputs = [subprocess.run([sys.executable, "-c", code, library], capture_output=True,
                                  text=True, check=True).stdout
                   for library in (str(OURS), of_distribution())]
        self.assertEqual(outputs[0], outputs[1])


if __name__ == "__main__":
    unittest.main()
