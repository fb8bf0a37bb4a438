#!/usr/bin/env python3
"""Mistakes in the library's own sources, each of which its tests must find.

usage: mutants.py BUILD TABLE [NAME...]

BUILD is a build folder of Ninja. TABLE is a file beside this one, without ".py": its TARGET is the program
of the tests. For each row one source is copied with a text replaced, compiled by its own command of
compile_commands.json, and linked before the archives, so that the archive's object is not used. One of the
program's runs must fail, and all must pass without a mistake. At least LEAST of 100 mistakes must be found. A mistake that was found
is not run again while its object, the program and its arguments are the same, byte for byte: the findings are in ccache's folder.
Only a mistake that does not end is run each time.
Exit status: 0, or 1 when fewer were found or the text of a row is not in its file.
"""
import concurrent.futures
import hashlib
import importlib
import json
import os
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
# A copy is new, and may include a precompiled header; its text alone matters.
CCACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "1",
          "CCACHE_SLOPPINESS": "pch_defines,time_macros,locale,include_file_mtime,include_file_ctime"}


def mutated(file, changes):
    text = (ROOT / file).read_text()
    for old, new in changes:
        if text.count(old) != 1:
            raise LookupError(f"{text.count(old)} times in {file}, not once: {old!r}")
        text = text.replace(old, new)
    return text


class Build:
    def __init__(self, folder, target):
        self.folder = folder
        self.work = folder / "tests" / "mutants" / "mutated"
        commands = json.loads((folder / "compile_commands.json").read_text())
        self.compile = {entry["file"]: shlex.split(entry["command"]) for entry in commands}
        listed = subprocess.run(["ninja", "-C", folder, "-t", "commands", target], check=True,
                                capture_output=True, text=True).stdout.splitlines()
        self.link = [word for word in shlex.split(listed[-1]) if word not in (":", "&&")]

    def object_of(self, source, command_of, where, include):
        command = list(self.compile[str(ROOT / command_of)])
        out = where / (source.stem + ".o")
        command[command.index("-o") + 1] = str(out)
        command[-1] = str(source)
        command.append("-Wno-error") # a mistake may leave a name unused
        # The copy stands elsewhere: its neighbours are found where the original stands.
        command[1:1] = [*(["-I", str(include)] if include else []), "-I", str((ROOT / command_of).parent)]
        launcher = ["ccache"] if shutil.which("ccache") else []
        subprocess.run([*launcher, *command], cwd=self.folder, check=True, env=os.environ | CCACHE)
        return out

    @staticmethod
    def headers(where, file, text):
        """Returns a folder with the header; with its neighbours, too, if it is not a public one."""
        folder = where / "include"
        public = "/include/" in file
        name = folder / (file.split("/include/")[1] if public else pathlib.Path(file).name)
        name.parent.mkdir(parents=True, exist_ok=True)
        beside = (ROOT / file).parent
        for each in [] if public else beside.rglob("*.hpp"):
            copy = folder / each.relative_to(beside)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(each.read_text())
        name.write_text(text)
        return folder

    def objects(self, where, file, changes, sources):
        shutil.rmtree(where, ignore_errors=True)
        where.mkdir(parents=True)
        text = mutated(file, changes)
        beside = where
        if sources:
            beside = self.headers(where, file, text)
        objects = []
        for source in sources or [file]:
            copy = beside / pathlib.Path(source).name
            copy.write_text(text if not sources else (ROOT / source).read_text())
            objects.append(self.object_of(copy, source, where, beside if sources else None))
        return objects

    def program(self, where, objects):
        link = list(self.link)
        out = where / "program"
        link[link.index("-o") + 1] = str(out)
        first = next(at for at, word in enumerate(link) if word.endswith(".o"))
        link[first + 1:first + 1] = [str(each) for each in objects]
        subprocess.run(link, cwd=self.folder, check=True)
        return out


ENDLESS = "Failure: it does not end"


class Findings:
    """The findings of earlier calls, each a file whose name is the hash of what was run."""

    def __init__(self, correct):
        ccache = shutil.which("ccache")
        folder = subprocess.run([ccache, "--get-config", "cache_dir"], check=True, capture_output=True,
                                text=True).stdout.strip() if ccache else None
        self.folder = pathlib.Path(folder) / "mutants" if folder else None
        self.program = correct.read_bytes()

    def place(self, objects, runs):
        if not self.folder:
            return None
        what = hashlib.sha256(self.program + json.dumps(runs).encode())
        for each in objects:
            what.update(each.read_bytes())
        return self.folder / what.hexdigest()

    @staticmethod
    def at(place):
        return place.read_text() if place and place.exists() else None

    @staticmethod
    def keep(place, text):
        if place:
            place.parent.mkdir(parents=True, exist_ok=True)
            new = place.with_suffix(f".{os.getpid()}")
            new.write_text(text)
            new.rename(place)


def limit_memory():
    """A mistake may allocate without end; then it ends for want of memory. The right programs run in half of that."""
    most = 4 << 30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def first_failure(program, runs, seconds):
    """Returns the output of the first run that fails, ENDLESS if one lasts longer, or None; and the last run's output."""
    for arguments in runs:
        try:
            result = subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                    errors="replace", timeout=seconds, preexec_fn=limit_memory)
        except subprocess.TimeoutExpired:
            return ENDLESS, ""
        if result.returncode != 0:
            return result.stdout, result.stdout
    return None, result.stdout


class Campaign:
    """The runs of a campaign, and how long one of a mistake may last: by far longer than without a mistake."""

    def __init__(self, correct, findings, runs):
        self.runs = runs
        place = findings.place([], runs)
        self.failure = None
        seconds = findings.at(place)
        if seconds is None:
            begin = time.monotonic()
            self.failure, _ = first_failure(correct, runs, 600)
            seconds = time.monotonic() - begin
            if self.failure is None:
                findings.keep(place, str(seconds))
        self.limit = 20 + 20 * float(seconds)


def is_found(build, findings, campaigns, row):
    name, campaign, file, changes, *rest = row
    where = build.work / name
    try:
        objects = build.objects(where, file, changes, rest[0] if rest else None)
        place = findings.place(objects, campaigns[campaign].runs)
        found = findings.at(place)
        if found:
            return True, f"{name}: found by {campaign} before: {found}"
        program = build.program(where, objects)
    except (LookupError, subprocess.SubprocessError) as error:
        return None, f"{name}: {error}"
    failure, output = first_failure(program, campaigns[campaign].runs, campaigns[campaign].limit)
    program.unlink()
    if failure is None:
        return False, f"{name}: NOT FOUND by {campaign}: {output[-600:]}"
    lines = [line for line in failure.splitlines() if "ailure" in line] or failure.strip().splitlines()
    line = (lines or ["a crash"])[0][:100]
    if failure is not ENDLESS:  # a busy machine may be slow once
        findings.keep(place, line)
    return True, f"{name}: found by {campaign}: {line}"


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    table = importlib.import_module(sys.argv[2])
    build = Build(pathlib.Path(sys.argv[1]).resolve(), table.TARGET)
    wanted = [row for row in table.ROWS if not sys.argv[3:] or row[0] in sys.argv[3:]]
    correct = build.folder / table.FOLDER / table.TARGET
    findings = Findings(correct)
    campaigns = {name: Campaign(correct, findings, table.runs_of(name)) for name in sorted({row[1] for row in wanted})}
    broken = 0
    for name, campaign in campaigns.items():
        if campaign.failure is not None:
            broken += 1
            print(f"{name}: fails without a mistake: {campaign.failure[-2000:]}")
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found, text in pool.map(lambda row: is_found(build, findings, campaigns, row), wanted):
            broken += found is None
            missed += found is False
            print(text, flush=True)
    print(f"{len(wanted)} mistakes, {missed} not found, {broken} failures")
    enough = 100 * (len(wanted) - missed) >= table.LEAST * len(wanted)
    sys.exit(0 if enough and not broken else 1)


main()
