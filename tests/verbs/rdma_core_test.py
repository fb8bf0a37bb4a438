"""rdma-core's own tests, over the drop-in libibverbs and the software fabric of their process.

rdma_core_skips.txt lists the tests that are skipped, with the reasons. A new skip is a failure."""
import fnmatch
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import rdma_core

FOLDER = pathlib.Path(sys.argv.pop(1)).resolve()
SKIPS = pathlib.Path(__file__).parent / "rdma_core_skips.txt"

# The steps of the tests' run_tests.py. Random choices are the same in every run.
RUN = """
import json, random, sys, unittest
random.seed(1)
sys.path.insert(0, "tests")
sys.argv = ["run_tests", "--dev", "irpverbs0", "--port", "1"]
from args_parser import parser
from importlib.machinery import SourceFileLoader
tests = SourceFileLoader("tests", "tests/__init__.py").load_module()
parser.parse_args()
result = unittest.main(module=tests, exit=False).result
def shown(test): return test.id().removeprefix("tests.")
print(json.dumps({"run": result.testsRun,
                  "skipped": {shown(test): reason for test, reason in result.skipped},
                  "failed": {shown(test): text for test, text in result.failures + result.errors}}))
"""


def expected_skips():
    lines = (line.split("#")[0].split() for line in SKIPS.read_text().splitlines())
    return [words for words in lines if words]


@unittest.skipUnless(rdma_core.SOURCE.is_dir(), "python3-pyverbs is not installed")
class RdmaCore(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            rdma_core.unpack(pathlib.Path(folder))
            done = subprocess.run(
                [rdma_core.PYTHON, "-c", RUN], cwd=folder, capture_output=True, text=True, timeout=100,
                env=dict(os.environ, LD_LIBRARY_PATH=str(FOLDER), IRPVERBS_HCA="software:"))
        cls.status = (done.returncode, done.stderr)
        cls.result = json.loads(done.stdout.splitlines()[-1]) if done.returncode == 0 else {}

    def setUp(self):
        self.assertEqual(self.status[0], 0, self.status[1])

    def test_none_fails(self):
        self.assertEqual(self.result["failed"], {})

    def test_skips_are_the_listed_ones(self):
        skipped = self.result["skipped"]
        patterns = [words[-1] for words in expected_skips()]
        unexpected = {name: reason for name, reason in skipped.items()
                      if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns)}
        self.assertEqual(unexpected, {})
        stale = [words[-1] for words in expected_skips()
                 if words[0] != "may" and not fnmatch.filter(skipped, words[-1])]
        self.assertEqual(stale, [], "these pass now: remove them from the list")

    def test_most_of_the_others_pass(self):
        """The release of the package has at least the tests of rdma-core 44."""
        self.assertGreaterEqual(self.result["run"] - len(self.result["skipped"]), 130)


if __name__ == "__main__":
    unittest.main()
