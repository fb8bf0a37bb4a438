"""Tests tools/clean-root and tools/test --clean: usage, errors, and the inputs that lead to a new root.
CI tests the root itself, since it runs all tests in it."""
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parents[2] / "tools"


class CleanRoot(unittest.TestCase):
    """Runs a copy of the tools; scripts stand in for the system programs that they call."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name).resolve()
        shutil.copytree(TOOLS, self.root / "project/tools")
        self.script("bin/apt-config", "exit 0")
        self.script("bin/id", "echo 0")

    def script(self, name, body):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"#!/bin/sh\n{body}\n")
        path.chmod(0o755)

    def run_tool(self, tool, *words):
        return subprocess.run(
            [self.root / "project/tools" / tool, *words], text=True, capture_output=True, check=False,
            env={**os.environ, "PATH": f"{self.root}/bin:{os.environ['PATH']}",
                 "XDG_CACHE_HOME": str(self.root / "cache")})

    def where(self):
        return self.run_tool("clean-root", "--where").stdout

    def test_wrong_usage_exits_2_and_help_exits_0(self):
        self.assertEqual(self.run_tool("clean-root").returncode, 2)
        self.assertEqual(self.run_tool("clean-root", "--nosuch", "true").returncode, 2)
        helped = self.run_tool("clean-root", "--help")
        self.assertEqual(helped.returncode, 0)
        self.assertTrue(helped.stdout.startswith("Usage: tools/clean-root "))

    def test_user_without_root_gets_the_remedy(self):
        self.script("bin/id", "echo 1000")
        ended = self.run_tool("clean-root", "true")
        self.assertEqual((ended.returncode, ended.stderr),
                         (125, "tools/clean-root: needs root: run it by sudo\n"))

    def test_changed_bootstrap_or_source_list_makes_another_root(self):
        first = self.where()
        self.assertIn(str(self.root / "cache/irpverbs/root-"), first)
        self.assertEqual(self.where(), first)
        self.script("bin/apt-config", "echo 'Acquire::http::Proxy \"other\";'")
        second = self.where()
        self.assertNotEqual(second, first)
        with open(self.root / "project/tools/bootstrap", "a", encoding="utf-8") as file:
            file.write("# other\n")
        self.assertNotEqual(self.where(), second)

    def test_packages_are_built_in_a_root_of_their_own(self):
        packages = self.run_tool("clean-root", "--set", "package", "--where").stdout
        self.assertIn(str(self.root / "cache/irpverbs/root-package-"), packages)
        self.assertNotEqual(packages, self.where())

    def test_failed_root_is_not_kept(self):
        self.script("bin/mmdebstrap", "echo no mirror >&2; exit 1")
        for _ in range(2):
            ended = self.run_tool("clean-root", "true")
            self.assertEqual(ended.returncode, 125)
            self.assertIn("the root could not be made: no mirror; more in ", ended.stderr)
        self.assertFalse(Path(self.where().strip()).exists())

    def test_clean_option_runs_the_stages_there(self):
        self.script("project/tools/bootstrap", 'echo "bootstrap $@"')
        self.script("project/tools/clean-root", 'echo "clean-root $@"')
        said = self.run_tool("test", "--clean", "release", "fuzz").stdout
        self.assertEqual(said, "bootstrap clean-root\nclean-root tools/test release fuzz\n")
        self.assertEqual(self.run_tool("test", "--clean", "nosuch").returncode, 2)

    def test_package_takes_stages_and_no_other_word(self):
        self.assertTrue(self.run_tool("package", "--help").stdout.startswith("Usage: tools/package "))
        wrong = self.run_tool("package", "nosuch")
        self.assertEqual((wrong.returncode, wrong.stderr),
                         (2, "tools/package: no stage 'nosuch'; there are: build lint try\n"))

    def test_package_try_without_root_gets_the_remedy(self):
        self.script("bin/id", "echo 1000")
        ended = self.run_tool("package", "try")
        self.assertEqual((ended.returncode, ended.stderr),
                         (1, "tools/package: the stage try needs root: run it by sudo\n"))


if __name__ == "__main__":
    unittest.main()
