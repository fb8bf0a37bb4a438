#!/usr/bin/env python3
"""Files that name the version name that of CMakeLists.txt."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
VERSION = re.search(r"project\(irpverbs VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text())[1]
MINOR = VERSION.rpartition(".")[0]


class Version(unittest.TestCase):
    def first(self, file, pattern):
        found = re.search(pattern, (ROOT / file).read_text(), re.M)
        self.assertIsNotNone(found, file)
        return found[1]

    def test_changelogs_begin_with_this_version(self):
        self.assertEqual(self.first("CHANGELOG.md", r"^## ([\d.]+)"), VERSION)
        self.assertEqual(self.first("debian/changelog", r"^irpverbs \(([^)]+)\)"), VERSION)

    def test_documents_ask_for_this_version(self):
        for file in ("README.md", "tests/install/cpp/CMakeLists.txt", "debian/tests/samples"):
            self.assertEqual(self.first(file, r"find_package\(irpverbs ([\d.]+)"), MINOR)

    def test_the_library_and_its_package_have_the_soname(self):
        self.assertEqual(self.first("debian/control", r"^Package: libirpverbs([\d.]+)$"), MINOR)
        self.assertTrue((ROOT / f"debian/libirpverbs{MINOR}.install").exists())
        self.assertTrue((ROOT / f"cmake/abi/libirpverbs.so.{MINOR}.abi").exists())


if __name__ == "__main__":
    sys.exit(unittest.main())
