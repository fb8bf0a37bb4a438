#!/usr/bin/env python3
"""Manual pages and completions agree with the --help of their programs.

usage: pages_test.py FOLDER SYMBOLS PROGRAM...
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
FOLDER = pathlib.Path(sys.argv[1])
SYMBOLS = pathlib.Path(sys.argv[2])
PROGRAMS = [pathlib.Path(each) for each in sys.argv[3:]]
OPTION = re.compile(r"^  (-[^\s]+)", re.M)


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=300).stdout


def options_of(program, *command):
    """The options in the help texts of a program and its commands. irpctl trace has all commands once more."""
    text = run(program, *command, "--help")
    found = {name for names in OPTION.findall(text) for name in names.split(",")}
    _, _, commands = text.partition("\nSubcommands:\n")
    if command != ("trace",):
        for name in re.findall(r"^  (\w+)", commands, re.M):
            found |= options_of(program, *command, name)
    return found


def bash(line):
    name = line.split()[0]
    return run("bash", "--norc", HERE / "complete.bash", FOLDER / name, "_" + name.replace("-", "_"), line).split()


def zsh(*lines):
    """The words for each line. One shell completes all of them: it takes a second to find its functions."""
    environment = {**os.environ, "TERM": "dumb", "HOME": "/nonexistent"}
    shown = subprocess.run(["zsh", "-f", HERE / "complete.zsh", FOLDER, *lines], capture_output=True, text=True,
                           check=True, env=environment, timeout=300).stdout
    return [re.findall("<<(.*?)>>", each) for each in shown.split("<<end>>")[:-1]]


class Pages(unittest.TestCase):
    def test_each_page_has_the_options_of_its_program_and_no_other(self):
        self.assertTrue(PROGRAMS)
        for program in PROGRAMS:
            page = (FOLDER / f"{program.name}.1").read_text(encoding="utf-8")
            entries = re.findall(r"^\.TP\n((?:\\fB\\-\S+?\\fR,? ?)+)", page, re.M)
            named = {name.replace("\\", "") for entry in entries for name in re.findall(r"\\fB(.+?)\\fR", entry)}
            with self.subTest(program=program.name):
                self.assertEqual(named, options_of(program))

    def test_groff_has_nothing_to_say_about_a_page(self):
        pages = [FOLDER / f"{program.name}.1" for program in PROGRAMS] + [*FOLDER.glob("man3/*.h.3")]
        result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", *pages], capture_output=True, text=True,
                                check=True)
        self.assertEqual(result.stderr, "")

    def test_each_function_of_the_C_interface_has_a_page_with_its_declaration(self):
        names = re.findall(r"^(?!SDDL)[A-Z][a-z]\w*(?<!Type)$|^ibmf_\w+$", SYMBOLS.read_text(), re.M)
        self.assertGreater(len(names), 400)
        for name in names:
            with self.subTest(name=name):
                target = re.fullmatch(r"\.so (man3/\w+\.h\.3)\n", (FOLDER / f"man3/{name}.3").read_text())
                self.assertRegex((FOLDER / target[1]).read_text(), rf"\b{name}\(")


class Completion(unittest.TestCase):
    """The words by which both shells complete the last one of a line."""
    CASES = {
        # commands
        "irpctl p": ["port", "ping", "paths"],
        "irpctl --hca software: cm ": ["connect", "listen"],
        # options of the command and of the program
        "irpctl qp --p": ["--pcap", "--partitions"],
        "irpctl --json qp --j": ["--json"],
        "irpverbsd --s": ["--socket", "--status"],
        "irpverbs-drive --re": ["--replay"],
        # values that the help lists
        "irpctl qp --service ": ["rc", "uc", "ud"],
        "irpverbs-conformance --machine s": ["simulated"],
        # the value of an option is no command
        "irpctl --hca qp --service u": [],
        # a traced command is completed as without trace
        "irpctl trace --output file fab": ["fabric"],
        "irpctl trace --output file fabric --sv": ["--svg"],
    }

    def test_bash_offers_these_words(self):
        for line, words in self.CASES.items():
            with self.subTest(line=line):
                self.assertEqual(sorted(bash(line)), sorted(words))

    @unittest.skipUnless(shutil.which("zsh"), "no zsh")
    def test_zsh_offers_these_words(self):
        for (line, words), offered in zip(self.CASES.items(), zsh(*self.CASES), strict=True):
            with self.subTest(line=line):
                self.assertEqual(sorted(offered), sorted(words))

    def test_nothing_is_offered_behind_two_hyphens(self):
        self.assertEqual(bash("irpctl run -- p"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
