#!/usr/bin/env python3
"""Mistakes in the library's own sources, each of which its tests must find.

usage: mutants.py BUILD TABLE [NAME...]

BUILD is a build folder of Ninja. TABLE is a file beside this one, without ".py": its TARGET is the program
of the tests. For each row one source is copied with a text replaced, compiled by its own command of
compile_commands.json, and linked before the archives, so that the archive's object is not used. One of the
program's runs must fail, and all must pass without a mistake. At least LEAST of 100 mistakes must be found. Exit status: 0, or
1 when fewer were found or the text of a row is not in its file.
"""
import concurrent.futures
import importlib
import json
import pathlib
import resource
import shlex
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


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
        subprocess.run([*launcher, *command], cwd=self.folder, check=True)
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

    def program(self, name, file, changes, sources):
        where = self.work / name
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
        link = list(self.link)
        out = where / "program"
        link[link.index("-o") + 1] = str(out)
        first = next(at for at, word in enumerate(link) if word.endswith(".o"))
        link[first + 1:first + 1] = [str(each) for each in objects]
        subprocess.run(link, cwd=self.folder, check=True)
        return out


def limit_memory():
    """A mistake may allocate without end; then it ends for want of memory. The right programs run in half of that."""
    most = 4 << 30
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def run(program, arguments):
    return subprocess.run([program, *arguments], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          errors="replace", timeout=120, preexec_fn=limit_memory)


def first_failure(program, runs):
    """Returns whether a run failed, and the output of the last one."""
    for arguments in runs:
        result = run(program, arguments)
        if result.returncode != 0:
            break
    return result.returncode != 0, result.stdout


def is_found(build, row, runs_of):
    name, campaign, file, changes, *rest = row
    try:
        program = build.program(name, file, changes, rest[0] if rest else None)
    except (LookupError, subprocess.SubprocessError) as error:
        return None, f"{name}: {error}"
    try:
        found, output = first_failure(program, runs_of(campaign))
    except subprocess.TimeoutExpired:
        return True, f"{name}: found by {campaign}: it does not end"
    finally:
        program.unlink()
    if found:
        lines = [line for line in output.splitlines() if "ailure" in line] or output.strip().splitlines()
        return True, f"{name}: found by {campaign}: {(lines or ['a crash'])[0][:100]}"
    return False, f"{name}: NOT FOUND by {campaign}: {output[-600:]}"


def main():
    if len(sys.argv) < 3 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    table = importlib.import_module(sys.argv[2])
    build = Build(pathlib.Path(sys.argv[1]).resolve(), table.TARGET)
    wanted = [row for row in table.ROWS if not sys.argv[3:] or row[0] in sys.argv[3:]]
    correct = build.folder / table.FOLDER / table.TARGET
    broken = 0
    for campaign in sorted({row[1] for row in wanted}):
        failed, output = first_failure(correct, table.runs_of(campaign))
        if failed:
            broken += 1
            print(f"{campaign}: fails without a mistake: {output[-2000:]}")
    missed = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for found, text in pool.map(lambda row: is_found(build, row, table.runs_of), wanted):
            broken += found is None
            missed += found is False
            print(text, flush=True)
    print(f"{len(wanted)} mistakes, {missed} not found, {broken} failures")
    enough = 100 * (len(wanted) - missed) >= table.LEAST * len(wanted)
    sys.exit(0 if enough and not broken else 1)


main()
