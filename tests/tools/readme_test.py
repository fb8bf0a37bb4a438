#!/usr/bin/env python3
"""The C sample of README.md is what samples/ask.c compiles and runs."""
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Readme(unittest.TestCase):
    def test_c_sample_begins_the_program(self):
        blocks = re.findall(r"```c\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
        self.assertEqual(len(blocks), 1)
        self.assertIn(blocks[0], (ROOT / "samples/ask.c").read_text())


if __name__ == "__main__":
    sys.exit(unittest.main())
