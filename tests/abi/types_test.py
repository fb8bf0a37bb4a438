#!/usr/bin/env python3
"""Types and signatures of the C interface are those of the last release with this soname, by abidiff.

usage: types_test.py REFERENCE LIBRARY

LIBRARY holds a pointer to each exported function, with the debug information of its type. Members and functions may be
added behind the others only where docs/versions.md says so. With ABI_WRITE=1 in the environment the reference is written
instead.
"""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

REFERENCE, LIBRARY = (pathlib.Path(each) for each in sys.argv[1:3])
# Neither folders of this machine nor the C library's types belong into the reference.
WRITE = ["abidw", "--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--drop-private-types",
         "--type-id-style", "hash"]


def abidiff(old, new):
    return subprocess.run(["abidiff", "--no-added-syms", old, new], capture_output=True, text=True, check=False)


class Types(unittest.TestCase):
    def test_each_type_is_that_of_the_reference(self):
        if os.environ.get("ABI_WRITE") == "1":
            subprocess.run([*WRITE, "--out-file", REFERENCE, LIBRARY], check=True)
        found = abidiff(REFERENCE, LIBRARY)
        self.assertEqual((found.returncode, found.stdout, found.stderr), (0, "", ""))

    def test_a_changed_size_is_found(self):
        text = REFERENCE.read_text(encoding="utf-8")
        changed = text.replace("name='_IRP' size-in-bits='", "name='_IRP' size-in-bits='1")
        self.assertNotEqual(text, changed)
        with tempfile.NamedTemporaryFile("w", suffix=".abi") as file:
            file.write(changed)
            file.flush()
            self.assertNotEqual(abidiff(file.name, LIBRARY).returncode & 4, 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
