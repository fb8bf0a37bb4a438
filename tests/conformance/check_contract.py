#!/usr/bin/env python3
"""Checks that each case of the suite proves a sentence of the contract, that the documentation
lists all cases, and that each verb of ci/verbs.def is declared under a contract and is called by the
suite.

usage: check_contract.py [--write] PROGRAM ROOT

A sentence stands, word for word, in a header of ci or in docs/conformance.md above its table; --write
brings the table up to date. Exit status: 0, or 1 with a line for each finding.
"""
import argparse
import re
import subprocess
import sys
from pathlib import Path

BEGIN, END = "<!-- cases: check_contract.py --write -->\n", "<!-- end of cases -->\n"


def plain(text):
    """Words and single blanks: comment marks, Markdown's stars and line ends don't count."""
    bare = re.sub(r"/\*|\*/|^\s*[-*] ", " ", text.replace("**", ""), flags=re.M)
    return " ".join(bare.split())


def list_of_cases(program, *options):
    return subprocess.run([program, "--list", *options], capture_output=True, text=True,
                          check=True).stdout


def unproven(program, sources):
    contract = [plain(source) for source in sources]
    lines = list_of_cases(program).splitlines()
    for name, sentence in zip(lines[::2], lines[1::2]):
        if not any(plain(sentence) in text for text in contract):
            yield f"{name}: no source has the sentence: {sentence.strip()}"


def incomplete_verbs(headers, table, suite):
    """Rows without a declaration behind a comment, and rows that no case calls."""
    for name in re.findall(r"^CI_VERB\(\w+, (\w+),", table, flags=re.M):
        if not any(re.search(rf"\*/\nNT_API NTSTATUS Ci{name}\(", text) for text in headers):
            yield f"Ci{name}: no header of ci declares it behind a comment that is its contract"
        if not re.search(rf"\bCi{name}\(", suite):
            yield f"Ci{name}: the conformance suite does not call it"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--write", action="store_true")
    parser.add_argument("program")
    parser.add_argument("root", type=Path)
    given = parser.parse_args()
    document = given.root / "docs" / "conformance.md"
    text = document.read_text()
    if BEGIN not in text or END not in text:
        sys.exit(f"{document}: expected the lines {BEGIN.strip()} and {END.strip()}")
    above, rest = text.split(BEGIN)
    expected = above + BEGIN + "\n" + list_of_cases(given.program, "--markdown") + "\n" + END \
        + rest.split(END)[1]
    if given.write:
        document.write_text(expected)
    headers = [file.read_text() for file in (given.root / "ci/include/ci").glob("*.h")]
    found = list(unproven(given.program, [*headers, above]))
    table = (given.root / "ci/include/ci/verbs.def").read_text()
    sources = (given.root / "tests/conformance/src").rglob("*.[ch]pp")
    found += incomplete_verbs(headers, table, "".join(file.read_text() for file in sources))
    if not given.write and text != expected:
        found.append("docs/conformance.md: is out of date; run check_contract.py --write")
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
