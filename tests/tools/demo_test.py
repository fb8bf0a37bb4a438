"""tools/demo takes files from its caller's folder. Scripts stand in for the programs that it builds and runs."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

DEMO = Path(__file__).resolve().parents[2] / "tools/demo"


class Demo(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        self.caller = self.root / "elsewhere"
        self.caller.mkdir()
        (self.root / "project/tools").mkdir(parents=True)
        shutil.copy(DEMO, self.root / "project/tools/demo")
        self.script("project/tools/bootstrap", "exit 0")
        self.script("bin/cmake", "exit 0")
        for name in ("bin/python3", "project/build/demo/samples/demo",
                     "project/build/demo/samples/transfer_coroutine",
                     "project/build/demo/samples/pulled_cable",
                     "project/build/demo/samples/processes",
                     "project/build/demo/samples/paths_everywhere"):
            self.script(name, 'echo "$@"')

    def script(self, name, body):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def demo(self, *words):
        seen = subprocess.run([self.root / "project/tools/demo", *words], cwd=self.caller, text=True,
                              env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}"},
                              stdout=subprocess.PIPE, check=True)
        return seen.stdout

    def test_relative_topology_and_trace_are_in_the_callers_folder(self):
        said = self.demo("--hca", "software:my/fabric.net?static", "--trace", "run.json").splitlines()
        hca = f"--hca software:{self.caller}/my/fabric.net?static"
        self.assertEqual(said[0], f"{hca} --trace {self.caller}/run.json")
        self.assertIn(hca, said[1:])

    def test_absolute_path_stays(self):
        self.assertTrue(self.demo("--hca", "software:/a/b", "--trace", "/c").startswith(
            "--hca software:/a/b --trace /c\n"))

    def test_uri_without_file_stays(self):
        for uri in ("software:", "software:?static", "rdma:mlx5_0"):
            self.assertTrue(self.demo("--hca", uri).startswith(f"--hca {uri} --trace build/demo/"))

    def test_relative_topology_for_opensm_is_in_the_callers_folder(self):
        self.assertIn(f"paths_everywhere {self.caller}/f.net\n", self.demo("--opensm", "f.net"))

    def test_processes_are_shown_alone(self):
        self.assertEqual(len(self.demo("--processes").splitlines()), 3)


if __name__ == "__main__":
    unittest.main()
