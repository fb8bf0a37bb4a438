#!/usr/bin/env python3
"""Manual pages and completions agree with the --help of their programs.

usage: pages_test.py FOLDER PROGRAM...
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
PROGRAMS = [pathlib.Path(each) for each in sys.argv[2:]]
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


def zsh(line):
    environment = {**os.environ, "TERM": "dumb", "HOME": "/nonexistent"}
    shown = subprocess.run(["zsh", "-f", HERE / "complete.zsh", FOLDER, line], capture_output=True, text=True,
                           check=True, env=environment, timeout=300).stdout
    return re.findall("<<(.*?)>>", shown.partition("<<end>>")[0])


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
        for program in PROGRAMS:
            page = FOLDER / f"{program.name}.1"
            result = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True,
                                    check=True)
            self.assertEqual(result.stderr, "", page)


class Completion(unittest.TestCase):
    def both(self, line, words):
        """Checks the words by which both shells complete the last one of a line."""
        shells = [bash] + ([zsh] if shutil.which("zsh") else [])
        for shell in shells:
            with self.subTest(shell=shell.__name__, line=line):
                self.assertEqual(sorted(shell(line)), sorted(words))

    def test_a_command_is_completed(self):
        self.both("irpctl p", ["port", "ping", "paths"])
        self.both("irpctl --hca software: cm ", ["connect", "listen"])

    def test_options_of_the_command_and_of_the_program_are_completed(self):
        self.both("irpctl qp --p", ["--pcap", "--partitions"])
        self.both("irpctl --json qp --j", ["--json"])
        self.both("irpverbsd --s", ["--socket", "--status"])
        self.both("irpverbs-drive --re", ["--replay"])

    def test_values_that_the_help_lists_are_completed(self):
        self.both("irpctl qp --service ", ["rc", "uc", "ud"])
        self.both("irpverbs-conformance --machine s", ["simulated"])

    def test_the_value_of_an_option_is_no_command(self):
        self.both("irpctl --hca qp --service u", [])

    def test_a_traced_command_is_completed_as_without_trace(self):
        self.both("irpctl trace --output file fab", ["fabric"])
        self.both("irpctl trace --output file fabric --sv", ["--svg"])

    def test_nothing_is_offered_behind_two_hyphens(self):
        self.assertEqual(bash("irpctl run -- p"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
