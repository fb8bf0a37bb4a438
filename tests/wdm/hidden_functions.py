#!/usr/bin/env python3
"""Fails if a library hides a function of Windows' interface: a driver that calls it isn't loaded.

A source that defines a function without its header, which says NT_API, hides it.
"""
import re
import subprocess
import sys

symbol = re.compile(r"\bFUNC\s+GLOBAL\s+HIDDEN\s+\d+\s+([A-Z]\w+)$")


def hidden_functions(library):
    table = subprocess.run(["readelf", "--symbols", "--wide", library], check=True,
                           capture_output=True, text=True).stdout
    return sorted({found[1] for line in table.splitlines() if (found := symbol.search(line))})


def main():
    failed = False
    for library in sys.argv[1:]:
        for name in hidden_functions(library):
            print(f"{library}: {name} is hidden")
            failed = True
    return failed


if __name__ == "__main__":
    sys.exit(main())
