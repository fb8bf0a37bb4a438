#!/usr/bin/env python3
"""rdma-core's test_rdmacm: pyverbs over librdmacm, in two processes of one port. The files are unmodified; the start
of the program adapts what they take from the system."""
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from drop_in import Daemon, environment

sys.path.append(str(Path(__file__).resolve().parent.parent / "verbs"))
import rdma_core

# The package finds the address of a device in sysfs, which has no simulated device; and it forks a process that
# uses a device, whose children could not use one. Here the processes are started anew.
RUN = """
import copyreg, json, multiprocessing, sys, unittest
sys.path.insert(0, "tests")
sys.argv = ["run_tests", "--dev", "irpverbs0", "--port", "1"]
from args_parser import parser
import pyverbs.cm_enums
import tests.test_rdmacm
from tests.test_rdmacm import CMTestCase
from tests.base import RDMATestCase, RDMACMBaseTest

def append_address(self, device, port, gid_index):
    self.args.append([device, port, gid_index, "198.18.0.1", None])
def state(self):
    return {name: value for name, value in vars(self).items() if not name.startswith("_")}
RDMATestCase._get_ip_mac = append_address
RDMATestCase.__getstate__ = state
copyreg.pickle(type(pyverbs.cm_enums.RDMA_PS_UDP), lambda number: (int, (int(number),)))
get_context = multiprocessing.get_context
multiprocessing.get_context = lambda method: get_context("spawn")

parser.parse_args()
result = unittest.main(module=tests.test_rdmacm, exit=False).result
print(json.dumps({"run": result.testsRun, "skipped": [str(test) for test, _ in result.skipped],
                  "failed": [str(test) + text for test, text in result.failures + result.errors]}))
"""


@unittest.skipUnless(rdma_core.SOURCE.is_dir(), "python3-pyverbs is not installed")
class Pyverbs(unittest.TestCase):
    maxDiff = None

    def test_rdmacm_passes(self):
        daemon = Daemon(self)
        with tempfile.TemporaryDirectory() as folder:
            rdma_core.unpack(Path(folder))
            done = subprocess.run([rdma_core.PYTHON, "-c", RUN], cwd=folder, capture_output=True, text=True, timeout=500,
                                  env=environment(daemon.host("host1")), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        result = json.loads(done.stdout.splitlines()[-1])
        self.assertEqual(result["failed"], [], done.stdout)
        self.assertEqual(result["skipped"], [])
        self.assertGreaterEqual(result["run"], 10)


if __name__ == "__main__":
    unittest.main()
