"""Programs of the distribution over the drop-in libibverbs."""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
GOLDEN = pathlib.Path(__file__).parent / "golden"


def run(*command, hca="software:"):
    """Runs a program with the library; hca None: without IRPVERBS_HCA."""
    environment = dict(os.environ, LD_LIBRARY_PATH=str(FOLDER))
    environment.pop("IRPVERBS_HCA", None)
    if hca is not None:
        environment["IRPVERBS_HCA"] = hca
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60)


@unittest.skipUnless(shutil.which("ibv_devinfo"), "ibverbs-utils is not installed")
class Programs(unittest.TestCase):
    maxDiff = None

    def expect(self, name, *command):
        done = run(*command)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        if os.environ.get("VERBS_WRITE_GOLDEN"):
            (GOLDEN / name).write_text(done.stdout)
        self.assertEqual(done.stdout, (GOLDEN / name).read_text())

    def test_ibv_devices(self):
        self.expect("ibv_devices.txt", "ibv_devices")

    def test_ibv_devinfo(self):
        self.expect("ibv_devinfo.txt", "ibv_devinfo", "-v")

    def test_ibv_devinfo_on_ethernet(self):
        address = ".".join(str(part) for part in (127, 201, os.getpid() >> 8 & 255, os.getpid() & 255))
        done = run("ibv_devinfo", "-v", hca="roce:" + address)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"link_layer:\s+Ethernet")
        self.assertRegex(done.stdout, r"GID\[ +0\]:\s+::ffff:" + re.escape(address) + r", RoCE v2")

    def test_device_that_does_not_exist(self):
        done = run("ibv_devinfo", "-d", "mlx5_0")
        self.assertEqual(done.returncode, 255)
        self.assertEqual(done.stderr, "IB device 'mlx5_0' wasn't found\n")

    def test_without_variable_no_device_and_one_line(self):
        done = run("ibv_devinfo", hca=None)
        self.assertEqual(done.returncode, 255)
        self.assertEqual(done.stderr.splitlines()[0],
                         "irpverbs: IRPVERBS_HCA is not set; irpctl run -- PROGRAM sets it")


if __name__ == "__main__":
    unittest.main()
