#!/usr/bin/env python3
"""Mistakes in the library's own sources, each of which its tests must find.

usage: mutants.py BUILD TABLE [NAME...]

BUILD is a build folder of Ninja. TABLE is a file beside this one, without ".py": its TARGET is the program
of the tests. For each row one source is copied with a text replaced, compiled by its own command of
compile_commands.json, and linked before the archives, so that the archive's object is not used. One of the
program's runs must fail, and all must pass without a mistake. At least LEAST of 100 mistakes must be found.
ccache's folder holds the findings. A mistake that was found is not run again while its source, the right program
and its arguments are the same, byte for byte; after a change the test that found it runs first, alone.
Exit status: 0, or 1 when fewer were found or the text of a row is not in its file.
"""
import concurrent.futures
import contextlib
import hashlib
import importlib
import json
import os
import pathlib
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

from building import Build, mutated

ENDLESS = "Failure: it does not end"


class Findings:
    """The findings of earlier calls, each a file whose name is the hash of what was run."""

    def __init__(self, correct):
        ccache = shutil.which("ccache")
        folder = subprocess.run([ccache, "--get-config", "cache_dir"], check=True, capture_output=True,
                                text=True).stdout.strip() if ccache else None
        self.folder = pathlib.Path(folder) / "mutants" if folder else None
        self.program = correct.read_bytes()

    def place(self, text, runs):
        """Returns where the finding of a source with this text is, or None without ccache."""
        what = hashlib.sha256(self.program + json.dumps([text, runs]).encode())
        return self.folder and self.folder / what.hexdigest()

    def test_place(self, row, runs):
        """Returns where the name of the test that found a mistake is; it outlasts the program."""
        return self.folder and self.folder / hashlib.sha256(json.dumps([row, runs]).encode()).hexdigest()

    @staticmethod
    def at(place):
        return place.read_text() if place and place.exists() else None

    @staticmethod
    def keep(place, text):
        if place:
            place.parent.mkdir(parents=True, exist_ok=True)
            new = place.with_suffix(f".{os.getpid()}.{threading.get_ident()}")
            new.write_text(text)
            new.rename(place)


def limit_memory():
    """A mistake may allocate without end; then it ends for want of memory. The right programs run in half of that."""
    most = 4 << 30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(program, arguments, seconds):
    """Returns the exit status, None if it lasts longer, and the output. No process of the program is left."""
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen([program, *arguments], stdout=output, stderr=output, start_new_session=True,
                              preexec_fn=limit_memory) as process:
            try:
                status = process.wait(seconds)
            except subprocess.TimeoutExpired:
                status = None
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
        output.seek(0)
        return status, output.read().decode(errors="replace")


def first_failure(program, runs, seconds):
    """Returns the output of the first run that fails, with ENDLESS if it lasts longer, or None; and the last run's."""
    for arguments in runs:
        status, output = run(program, arguments, seconds)
        if status is None:
            return f"{output}\n{ENDLESS}", ""
        if status != 0:
            return output, output
    return None, output


def last_test(output):
    """Returns the GoogleTest that ran last, which is the one that failed; None in other programs."""
    began = re.findall(r"^\[ RUN +\] (\S+)", output, re.MULTILINE)
    return began[-1] if began else None


class Campaign:
    """Runs of the program, and how long one of a mistake may last: by far longer than without a mistake."""

    def __init__(self, correct, findings, runs):
        self.runs = runs
        place = findings.place("", runs)
        self.failure = None
        seconds = findings.at(place)
        if seconds is None:
            begin = time.monotonic()
            self.failure, _ = first_failure(correct, runs, 600)
            seconds = time.monotonic() - begin
            if self.failure is None:
                findings.keep(place, str(seconds))
        self.limit = 20 + 20 * float(seconds)


class Table:
    def __init__(self, build, table):
        self.build = build
        self.runs_of = table.runs_of
        self.correct = build.folder / table.FOLDER / table.TARGET
        self.findings = Findings(self.correct)

    def campaign(self, runs):
        return Campaign(self.correct, self.findings, runs)

    def failure_of(self, program, row, campaign):
        """Returns the output of a failure. The test that found the mistake before comes first."""
        place = self.findings.test_place(row, campaign.runs)
        test = self.findings.at(place)
        if test:
            alone = self.campaign([[*campaign.runs[0][:-1], f"--gtest_filter={test}"]])
            failure, _ = first_failure(program, alone.runs, alone.limit)
            if failure is not None and alone.failure is None:
                return failure, ""
        failure, output = first_failure(program, campaign.runs, campaign.limit)
        test = failure and last_test(failure)
        if test:
            self.findings.keep(place, test)
        return failure, output

    def is_found(self, row, campaigns):
        begin = time.monotonic()
        found, text = self.judged(row, campaigns)
        return found, f"{row[0]} ({time.monotonic() - begin:.1f} s): {text}"

    def judged(self, row, campaigns):
        name, chosen, file, changes, *rest = row
        campaign = campaigns[chosen]
        try:
            text = mutated(file, changes)
            place = self.findings.place(text, campaign.runs)
            found = self.findings.at(place)
            if found:
                return True, f"found by {chosen} before: {found}"
            program = self.build.program(name, self.build.objects(name, file, text, rest[0] if rest else None))
        except (LookupError, subprocess.SubprocessError) as error:
            return None, str(error)
        failure, output = self.failure_of(program, row, campaign)
        program.unlink()
        if failure is None:
            return False, f"NOT FOUND by {chosen}: {output[-600:]}"
        lines = [line for line in failure.splitlines() if "ailure" in line] or failure.strip().splitlines()[-1:]
        line = (lines or ["a crash"])[0][:100]
        if not failure.endswith(ENDLESS):  # a busy machine may be slow once
            self.findings.keep(place, line)
        return True, f"found by {chosen}: {line}"


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    module = importlib.import_module(sys.argv[2])
    wanted = [row for row in module.ROWS if not sys.argv[3:] or row[0] in sys.argv[3:]]
    sources = {source for _, _, file, _, *rest in module.ROWS for source in (rest[0] if rest else [file])}
    table = Table(Build(pathlib.Path(sys.argv[1]).resolve(), sys.argv[2], module.TARGET, sources), module)
    campaigns = {name: table.campaign(table.runs_of(name)) for name in sorted({row[1] for row in wanted})}
    broken = 0
    for name, campaign in campaigns.items():
        if campaign.failure is not None:
            broken += 1
            print(f"{name}: fails without a mistake: {campaign.failure[-2000:]}")
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found, text in pool.map(lambda row: table.is_found(row, campaigns), wanted):
            broken += found is None
            missed += found is False
            print(text, flush=True)
    print(f"{len(wanted)} mistakes, {missed} not found, {broken} failures")
    enough = 100 * (len(wanted) - missed) >= module.LEAST * len(wanted)
    sys.exit(0 if enough and not broken else 1)


main()
