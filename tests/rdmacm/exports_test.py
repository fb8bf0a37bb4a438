"""The drop-in librdmacm exports what the library of the distribution exports; its unsupported functions say so."""
import os
import pathlib
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
OURS = FOLDER / "librdmacm.so.1"

# Prints (result, errno) of each function that nothing supports.
UNSUPPORTED = """
import ctypes, os
library = ctypes.CDLL("librdmacm.so.1", use_errno=True)
for name in NAMES:
    ctypes.set_errno(0)
    result = getattr(library, name)(*[ctypes.c_void_p(0)] * 6)
    if (result, ctypes.get_errno()) != (-1, 95): # EOPNOTSUPP
        print(name, result, ctypes.get_errno())
"""


def symbols(library):
    """The defined dynamic symbols with their versions: T function, A version."""
    lines = subprocess.run(["nm", "-D", "--defined-only", "--with-symbol-versions", library],
                           capture_output=True, text=True, check=True).stdout.splitlines()
    return {line.split()[2]: line.split()[1] for line in lines}


def of_distribution():
    """The path of the library that programs load without us."""
    lines = subprocess.run(["/sbin/ldconfig", "-p"], capture_output=True, text=True, check=True).stdout
    return next(line.split()[-1] for line in lines.splitlines() if "librdmacm.so.1 " in line)


class Exports(unittest.TestCase):
    maxDiff = None

    def test_symbols_and_versions_are_those_of_the_distribution(self):
        self.assertEqual(symbols(OURS), symbols(of_distribution()))

    def run_python(self, code, hca="software:"):
        environment = dict(os.environ, LD_LIBRARY_PATH=str(FOLDER), IRPVERBS_HCA=hca)
        return subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True,
                              timeout=60)

    def test_nothing_runs_before_the_first_use(self):
        """A process that loads the library has no more threads, descriptors or output."""
        done = self.run_python("import ctypes, os\n"
                               "before = sorted(os.listdir('/proc/self/fd'))\n"
                               "ctypes.CDLL('librdmacm.so.1')\n"
                               "assert sorted(os.listdir('/proc/self/fd')) == before\n"
                               "assert len(os.listdir('/proc/self/task')) == 1\n")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_enhanced_establishment_is_not_supported(self):
        names = ["rdma_set_local_ece", "rdma_get_remote_ece"]
        done = self.run_python(UNSUPPORTED.replace("NAMES", repr(names)))
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def test_without_a_fabric_there_is_no_channel_and_one_line(self):
        done = self.run_python("import ctypes, errno\n"
                               "library = ctypes.CDLL('librdmacm.so.1', use_errno=True)\n"
                               "for i in range(2):\n"
                               "    assert library.rdma_create_event_channel() == 0\n"
                               "    assert ctypes.get_errno() == errno.ENODEV\n", hca="")
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        self.assertEqual(done.stderr, "irpverbs: IRPVERBS_HCA is not set; irpctl run -- PROGRAM sets it\n")

    def test_texts_are_those_of_the_distribution(self):
        code = ("import ctypes, sys\n"
                "library = ctypes.CDLL(sys.argv[1])\n"
                "library.rdma_event_str.restype = ctypes.c_char_p\n"
                "print([library.rdma_event_str(event) for event in range(-1, 40)])\n")
        outputs = [subprocess.run([sys.executable, "-c", code, library], capture_output=True, text=True,
                                  check=True).stdout for library in (str(OURS), of_distribution())]
        self.assertEqual(outputs[0], outputs[1])


if __name__ == "__main__":
    unittest.main()
