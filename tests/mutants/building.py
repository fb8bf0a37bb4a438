"""Programs of tests with a mistake in one source."""
import functools
import hashlib
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]


def mutated(file, changes):
    text = (ROOT / file).read_text()
    for old, new in changes:
        if text.count(old) != 1:
            raise LookupError(f"{text.count(old)} times in {file}, not once: {old!r}")
        text = text.replace(old, new)
    return text


def package_of(source):
    return source.split("/src/")[0]


class Build:
    """A build folder of Ninja, whose commands compile copies of sources and link a program with them."""

    def __init__(self, folder, table, target, sources):
        self.folder = folder
        self.sources = sources # that are to be compiled
        self.work = folder / "tests" / "mutants" / table
        shutil.rmtree(self.work, ignore_errors=True)
        self.lock = threading.Lock()
        commands = json.loads((folder / "compile_commands.json").read_text())
        self.commands = {entry["file"]: shlex.split(entry["command"]) for entry in commands}
        listed = subprocess.run(["ninja", "-C", folder, "-t", "commands", target], check=True,
                                capture_output=True, text=True).stdout.splitlines()
        quick = ["-fuse-ld=gold"] if shutil.which("ld.gold") else []
        self.link = [word for word in shlex.split(listed[-1]) if word not in (":", "&&")] + quick

    def compile(self, source, command_of, out, options):
        command = list(self.commands[str(ROOT / command_of)])
        command[command.index("-o") + 1] = str(out)
        command[-1] = str(source)
        command.append("-w") # a mistake may leave a name unused
        # The copy stands elsewhere: its neighbours are found where the original stands.
        command[1:1] = [*options, "-I", str((ROOT / command_of).parent)]
        subprocess.run(command, cwd=self.folder, check=True)
        return out

    def precompiled(self, includes, command_of):
        """Returns the options that use a precompiled header with these lines. A miss of ccache, and even a hit,
        takes longer than to compile with it.
        """
        name = hashlib.sha256((package_of(command_of) + includes).encode()).hexdigest()[:16]
        header = self.work / "headers" / f"{name}.hpp"
        with self.lock:
            if not header.exists():
                header.parent.mkdir(parents=True, exist_ok=True)
                header.write_text(includes)
                self.compile(header, command_of, header.with_suffix(".hpp.gch"), ["-x", "c++-header"])
        return ["-include", str(header)]

    @functools.cache
    def read_for(self, source):
        """Returns the files that the compiler read for the source's object. ccache makes their names relative."""
        command = self.commands[str(ROOT / source)]
        listed = subprocess.run(["ninja", "-C", self.folder, "-t", "deps", command[command.index("-o") + 1]],
                                check=True, capture_output=True, text=True).stdout
        return {os.path.normpath(self.folder / line.strip()) for line in listed.splitlines()[1:] if line.strip()}

    @functools.cache
    def public_includes(self, package, changed):
        """Returns the lines by which the sources of a package include public headers; none of ours if it changed."""
        read = set().union(*(self.read_for(source) for source in self.sources if package_of(source) == package))
        own = [file for file in read if file.startswith(f"{ROOT}/") and "/include/" not in file]
        names = {name for file in own for name in re.findall(r"^#include <(.+)>", pathlib.Path(file).read_text(), re.M)}
        ours = {file for file in read if file.startswith(f"{ROOT}/") and "/include/" in file}
        common = read - ours if "/include/" in changed else read
        known = sorted(name for name in names if any(file.endswith(f"/{name}") for file in common))
        return "".join(f"#include <{name}>\n" for name in known)

    @staticmethod
    def changed_header(where, file, text):
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

    def objects(self, name, file, text, sources):
        """Returns the objects of a source with this text, or of those that include a header with this text."""
        where = self.work / name
        where.mkdir(parents=True)
        first = sources[0] if sources else file
        common = self.precompiled(self.public_includes(package_of(first), file), first)
        if not sources:
            copy = where / pathlib.Path(file).name
            copy.write_text(text)
            return [self.compile(copy, file, copy.with_suffix(".o"), common)]
        folder = self.changed_header(where, file, text)
        objects = []
        including = [source for source in sources if str(ROOT / file) in self.read_for(source)]
        if not including:
            raise LookupError(f"no source of the row includes {file}")
        for source in including:
            copy = folder / pathlib.Path(source).name
            copy.write_text((ROOT / source).read_text())
            objects.append(self.compile(copy, source, where / copy.with_suffix(".o").name,
                                        [*common, "-I", str(folder)]))
        return objects

    def program(self, name, objects):
        link = list(self.link)
        out = self.work / name / "program"
        link[link.index("-o") + 1] = str(out)
        first = next(at for at, word in enumerate(link) if word.endswith(".o"))
        link[first + 1:first + 1] = [str(each) for each in objects]
        subprocess.run(link, cwd=self.folder, check=True)
        return out
