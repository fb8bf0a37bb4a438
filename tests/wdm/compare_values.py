#!/usr/bin/env python3
"""Compares constants of irpverbs::windows with a list of the user's, such as an export of Windows'
metadata or of [MS-ERREF].

A list is any text in which a name is followed by its value: "NAME = 0x1", "#define NAME 1" or
a .json file with {"Constants": [{"Name": "NAME", "Value": 1}]}. Names that the headers do not have are counted, not reported.
"""
import argparse
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = ROOT / "irp/include/windows"
NUMBER = r"(-?(?:0x[0-9A-Fa-f]+|\d+))"
PLAIN = re.compile(r"\b([A-Z][A-Z0-9_a-z]{3,})\b[^\n\w\-]*?(?:\w+ = |= |\(NTSTATUS\)|[ \t])" + NUMBER)


def listed(paths):
    values = {}
    for path in paths:
        text = path.read_text(encoding="utf-8-sig", errors="replace")
        if path.suffix == ".json":
            pairs = [(one["Name"], str(one["Value"])) for one in json.loads(text)["Constants"]
                     if isinstance(one.get("Value"), int)]
        else:
            pairs = PLAIN.findall(text)
        for name, value in pairs:
            values.setdefault(name, int(value, 0) & 0xffffffff)
    return values


def compiled(names, compiler):
    """The values that a program prints which includes every header."""
    lines = ["#include <ntifs.h>", "#include <stdio.h>"]
    lines += [f"#include <{path.name}>" for path in sorted(HEADERS.glob("*.h"))
              if "pack" not in path.name]
    codes = set(re.findall(r"\((\w+), 0x", "".join(
        path.read_text() for path in [*HEADERS.glob("wdk/*.def"),
                                      ROOT / "dispatch/include/dispatch/ntstatus.def"])))
    lines.append("int main(void) {")
    for name in names:
        show = f'printf("{name} %llu\\n", (unsigned long long)(unsigned)({name}));'
        lines += [show] if name in codes else [f"#ifdef {name}", show, "#endif"]
    lines += ["return 0; }"]
    with tempfile.TemporaryDirectory() as work:
        source, program = Path(work) / "values.c", Path(work) / "values"
        source.write_text("\n".join(lines) + "\n")
        subprocess.run([compiler, "-fshort-wchar", "-fms-extensions", "-w", f"-I{HEADERS}",
                        f"-I{ROOT / 'irp/include'}", f"-I{ROOT / 'dispatch/include'}",
                        str(source), "-o", str(program)], check=True)
        output = subprocess.run([program], capture_output=True, text=True, check=True).stdout
    return {name: int(value) for name, value in (line.split() for line in output.splitlines())}


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("lists", nargs="+", type=Path)
    parser.add_argument("--match", default=r"^(STATUS|IOCTL|FSCTL|FILE_DEVICE)_",
                        help="the names to compare")
    parser.add_argument("--compiler", default="gcc")
    options = parser.parse_args()
    wanted = {name: value for name, value in listed(options.lists).items()
              if re.search(options.match, name)}
    have = compiled(sorted(wanted), options.compiler)
    wrong = [name for name, value in sorted(have.items()) if value != wanted[name]]
    for name in wrong:
        print(f"{name}: {have[name]:#x} here, {wanted[name]:#x} in the list")
    print(f"{len(have) - len(wrong)} of {len(have)} constants agree; "
          f"{len(wanted) - len(have)} of the list are not in the headers")
    sys.exit(1 if wrong or not have else 0)


if __name__ == "__main__":
    main()
