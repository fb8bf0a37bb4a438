"""Proves that tools/check-layers can fail: each rule is broken once in a tree of its own."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools/check-layers"
LAYERS = """
low        :          + boost
high       : low      + boost
left  a/b  : high low
right a/c  : high low
"""


class Layers(unittest.TestCase):
    def check(self, files, layers=LAYERS):
        """Runs the check over a tree of `files`; returns its exit status and output."""
        with tempfile.TemporaryDirectory() as folder:
            files = {"tools/layers.txt": layers, "low/include/low/low.h": "",
                     "high/include/high/high.h": "#include <low/low.h>\n",
                     "a/b/include/a/left.h": "", "a/c/include/a/right.h": "", **files}
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, CHECK, "--root", folder],
                                 capture_output=True, text=True)
            return run.returncode, run.stdout + run.stderr

    def rejects(self, name, text, *words):
        status, output = self.check({name: text})
        self.assertEqual(status, 1, output)
        for word in (name, *words):
            self.assertIn(word, output)

    def test_good_tree_passes(self):
        status, output = self.check({
            "low/src/low.cpp": '#include <vector>\n#include <sys/mman.h>\n#include "inner.hpp"\n',
            "low/src/inner.hpp": "#include <boost/asio.hpp>\n"})
        self.assertEqual(status, 0, output)

    def test_include_upwards_is_reported_with_file_line_and_what_is_allowed(self):
        self.rejects("low/src/low.cpp", "\n#include <high/high.h>\n",
                     "low/src/low.cpp:2", "a header of high", "low may use no other package; and boost")

    def test_siblings_in_one_folder_are_distinguished(self):
        self.rejects("a/b/src/left.cpp", "#include <a/right.h>\n", "a header of right")

    def test_relative_include_is_checked(self):
        self.rejects("low/src/low.cpp", '#include "../../high/include/high/high.h"\n', "a file of high")

    def test_unlisted_library_is_reported(self):
        self.rejects("a/b/src/left.cpp", "#include <boost/asio.hpp>\n", "a header of boost")

    def test_unknown_folder_is_reported(self):
        self.rejects("low/src/low.cpp", "#include <high/gone.h>\n", "no header of any package")

    def test_detail_of_another_package_is_refused(self):
        status, output = self.check({"low/include/low/detail/own.hpp": "", "low/src/low.cpp": "#include <low/detail/own.hpp>\n",
                                     "high/src/high.cpp": "#include <low/detail/own.hpp>\n"})
        self.assertEqual(status, 1, output)
        self.assertIn("high/src/high.cpp:1: <low/detail/own.hpp> is private to low", output)
        self.assertNotIn("low/src", output)

    def test_private_header_of_inner_folder_is_refused(self):
        layers = LAYERS + "inner low/src/checks : hooks.hpp\n"
        tree = {"low/src/checks/hooks.hpp": "", "low/src/checks/table.hpp": '#include "../core.hpp"\n',
                "low/src/core.hpp": "", "low/src/core.cpp": '#include "checks/hooks.hpp"\n',
                "low/src/checks/table.cpp": '#include "table.hpp"\n'}
        status, output = self.check(tree, layers)
        self.assertEqual(status, 0, output)
        for file, include in (("low/src/core.cpp", "checks/table.hpp"), ("low/src/sim/run.cpp", "../checks/table.hpp")):
            status, output = self.check({**tree, file: f'#include "{include}"\n'}, layers)
            self.assertEqual(status, 1, output)
            self.assertIn(f"{file}:1: <{include}> is private to low/src/checks", output)

    def test_missing_interface_of_inner_folder_is_reported(self):
        status, output = self.check({"low/src/checks/table.hpp": ""}, LAYERS + "inner low/src/checks : hooks.hpp\n")
        self.assertEqual(status, 1, output)
        self.assertIn("the interface low/src/checks/hooks.hpp does not exist", output)

    def test_header_of_tests_is_refused(self):
        self.rejects("low/src/low.cpp", "#include <gtest/gtest.h>\n", "a header of gtest")

    def test_cmake_dependency_upwards_is_reported(self):
        self.rejects("low/CMakeLists.txt", "irpverbs_package(low DEPENDS irpverbs::high)\n",
                     "depends on irpverbs::high")

    def test_cycle_of_layers_is_reported(self):
        status, output = self.check({}, layers="low : high\nhigh : low\n")
        self.assertEqual(status, 1, output)
        self.assertIn("layers.txt:1: low uses high, which no line above declares", output)

    def test_empty_tree_fails(self):
        status, _ = self.check({}, layers="nothing :\n")
        self.assertEqual(status, 1)

    def test_header_for_tests_in_public_header_is_reported(self):
        aids = {"low/include/low/testing/aid.hpp": "", "low/src/low.cpp": "#include <low/testing/aid.hpp>\n",
                "low/include/low/testing/more.hpp": "#include <low/testing/aid.hpp>\n"}
        status, output = self.check(aids)
        self.assertEqual(status, 0, output)
        status, output = self.check({**aids, "high/include/high/high.hpp": "#include <low/testing/aid.hpp>\n"})
        self.assertEqual(status, 1, output)
        self.assertIn("high/include/high/high.hpp:1: <low/testing/aid.hpp> is for tests", output)


if __name__ == "__main__":
    unittest.main()
