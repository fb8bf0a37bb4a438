#!/usr/bin/env python3
"""libirpverbs.so exports what the public headers mark as exported (NT_API), as cmake/abi/irpverbs.symbols lists it.

usage: symbols_test.py LIST LIBRARY ARCHIVE... [-- unittest options]

With ABI_WRITE=1 in the environment the list is written instead.
"""
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import unittest

ARGUMENTS = sys.argv[1:]
LIST, LIBRARY = (pathlib.Path(each) for each in ARGUMENTS[:2])
ARCHIVES = ARGUMENTS[2:]
# Templates of the standard library and of Boost are visible wherever they are instantiated. IrpverbsHca* keep a
# driver in a program that is linked with the archives.
OWN = re.compile(r"(?!_Z|IrpverbsHca)|_Z(TV|TI|TS|TH|TW|GV)?N?K?8irpverbs")


def symbols(arguments, *files):
    """The names of the defined symbols that are visible outside, with their versions."""
    lines = subprocess.run(["readelf", "-W", *arguments, *files], capture_output=True, text=True,
                           check=True).stdout.splitlines()
    for line in lines:
        words = line.split()
        if (len(words) >= 8 and words[0].rstrip(":").isdigit() and words[6] != "UND" and
                words[4] in ("GLOBAL", "WEAK", "UNIQUE") and words[5] == "DEFAULT"):
            yield words[7]


def visible():
    return sorted({name for name in symbols(["-s"], *ARCHIVES) if OWN.match(name)})


def listed():
    return [line for line in LIST.read_text().splitlines() if not line.startswith("#")]


class Symbols(unittest.TestCase):
    def test_each_visible_symbol_is_listed_and_no_other(self):
        if os.environ.get("ABI_WRITE") == "1":
            head = [line for line in LIST.read_text().splitlines() if line.startswith("#")]
            LIST.write_text("".join(f"{line}\n" for line in [*head, *visible()]))
        self.assertEqual(sorted(set(visible()) - set(listed())), [], "not in the list; see docs/versions.md")
        self.assertEqual(sorted(set(listed()) - set(visible())), [], "no longer there; see docs/versions.md")

    def test_the_library_exports_the_list_under_its_version(self):
        version = re.search(r"\.so\.(\d+\.\d+)", str(LIBRARY.resolve()))[1]
        exported = set(symbols(["--dyn-syms"], LIBRARY)) - {f"IRPVERBS_{version}"}
        self.assertEqual(exported, {f"{name}@@IRPVERBS_{version}" for name in listed()})

    def test_the_soname_is_that_of_the_minor_version(self):
        dynamic = subprocess.run(["readelf", "-dW", LIBRARY], capture_output=True, text=True, check=True).stdout
        version = ".".join(LIBRARY.resolve().name.split(".")[2:4])
        self.assertIn(f"Library soname: [libirpverbs.so.{version}]", dynamic)
        self.assertIn("NODELETE", dynamic)

    def test_a_process_loads_the_library_late(self):
        library = ctypes.CDLL(str(LIBRARY), mode=os.RTLD_NOW)
        library.NtStatusName.restype = ctypes.c_char_p
        self.assertEqual(library.NtStatusName(0x103), b"STATUS_PENDING")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
