#!/usr/bin/env python3
"""Compiles WDM sources of others, as they stand, with nothing but the headers of irpverbs::windows.

Takes folders of the user's own copy (Microsoft's driver samples, ReactOS, ...), picks the C files
that stand on the kernel's interface alone, and prints which of them compile and the first error of
each other one. Nothing is written into the folders that are looked at.
"""
import argparse
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]', re.MULTILINE)

# A source that includes one of these, itself or by its own headers, is no WDM source: it stands on
# a framework, a port driver or another subsystem, or belongs to user mode.
FRAMEWORKS = {
    "KMDF": "wdf.h wdfldr.h ucmtcpcicx.h ufxbase.h udecx.h netadaptercx.h",
    "UMDF": "wudfwdm.h wudfddi.h",
    "NDIS": "ndis.h ndisguid.h ntddndis.h nwifi.h windot11.h wlclient.h",
    "WFP": "fwpsk.h fwpmk.h",
    "filter manager": "fltkernel.h fltuser.h fltuserstructures.h",
    "stream class": "ks.h ksmedia.h portcls.h strmini.h avshws.h",
    "storage port": "storport.h miniport.h scsi_port.h sdport.h ata.h irb.h",
    "multipath": "mpio.h dsm.h mpspf.h",
    "display": "dispmprt.h d3dkmddi.h d3dkmthk.h video.h miniport_video.h winddi.h dderror.h",
    "GPIO and serial extensions": "gpioclx.h serialcx.h spbcx.h sercx.h",
    "smart cards": "smclib.h",
    "user mode": "windows.h winsock2.h stdafx.h atlbase.h tchar.h winbase.h setupapi.h "
                 "fltuser.h kbd.h conio.h windowsx.h winioctl.h wtypes.h nt.h "
                 "unknwn.h commctrl.h",
}
FRAMEWORK_OF = {name: kind for kind, names in FRAMEWORKS.items() for name in names.split()}
# What Windows' compiler takes with a warning, as gcc 12 does.
CLANG_WARNINGS = ["-Wno-error=incompatible-function-pointer-types", "-Wno-error=int-conversion",
                  "-Wno-error=implicit-function-declaration", "-Wno-error=implicit-int",
                  "-Wno-error=incompatible-pointer-types", "-Wno-error=invalid-token-paste",
                  "-Wno-error=return-type", "-Wno-error=int-conversion"]
KERNEL = set("ntddk.h wdm.h ntifs.h ntosp.h classpnp.h hidport.h ntos.h".split())


def normal(name):
    return name.replace("\\", "/").strip()


class Tree:
    """The files below the folders, by lower-case name, as Windows' file systems find them."""

    def __init__(self, folder):
        self.folder = folder
        self.by_name = {}
        self.text = {}
        for path in folder.rglob("*"):
            if path.is_file() and ".git" not in path.parts:
                self.by_name.setdefault(path.name.lower(), []).append(path)

    def read(self, path):
        if path not in self.text:
            self.text[path] = path.read_bytes().decode("latin-1")
            if self.text[path].startswith("\xff\xfe"):
                self.text[path] = path.read_text(encoding="utf-16", errors="replace")
        return self.text[path]

    def find(self, name, beside):
        """The file that an include means: beside the including one, else the nearest by path."""
        wanted = normal(name).lower()
        candidates = [path for path in self.by_name.get(wanted.rsplit("/", 1)[-1], [])
                      if str(path).lower().endswith("/" + re.sub(r"^(\.\.?/)+", "", wanted))]

        def distance(path):
            common = len(os.path.commonprefix([path.parent.parts, beside.parts]))
            return (len(beside.parts) - common, len(path.parts) - common, str(path))
        return min(candidates, key=distance, default=None)


class Source:
    """One C file with everything of the tree that it includes."""

    def __init__(self, path, tree, system):
        self.path, self.tree = path, tree
        self.outside, self.own, self.spelled = set(), {}, []
        self.unknown = set()
        self.scan(path, system)

    def scan(self, path, system):
        for quote, name in INCLUDE.findall(self.tree.read(path)):
            name = normal(name)
            base = name.rsplit("/", 1)[-1].lower()
            found = None
            if quote == '"' or base not in system:
                found = self.tree.find(name, path.parent)
            if found is None or (base in FRAMEWORK_OF or base in KERNEL):
                self.outside.add(base)
                if found is None and base not in system and not base.endswith(".tmh"):
                    self.unknown.add(name)
                self.spelled.append((name, None, path, quote))
            else:
                self.spelled.append((name, found, path, quote))
                if found not in self.own:
                    self.own[found] = name
                    self.scan(found, system)

    def framework(self):
        kinds = sorted({FRAMEWORK_OF[name] for name in self.outside if name in FRAMEWORK_OF})
        if kinds:
            return kinds[0]
        if not self.outside & KERNEL:
            return "no kernel header"
        return None if self.in_project() else "not in the project beside it"

    def in_project(self):
        """Whether Windows' build compiles the file: a project in its folder names it, or there is
        none."""
        projects = [self.tree.read(path).lower() for path in self.path.parent.glob("*.vcxproj")]
        name = re.compile(rf"[\s\"\\/;]{re.escape(self.path.name.lower())}[\s\";]")
        return not projects or any(name.search(text) for text in projects)


def system_headers(folders):
    names = set()
    for folder in folders:
        names.update(path.name.lower() for path in folder.glob("*.h"))
    names.update("stdarg.h stddef.h stdint.h stdio.h stdlib.h string.h limits.h ctype.h wchar.h "
                 "assert.h math.h errno.h float.h setjmp.h signal.h time.h".split())
    return names


def own_macros(source):
    """The trace functions that WPP's configuration blocks declare, and those of its command line
    in the project files beside the source."""
    names = set()
    for path in [source.path, *source.own]:
        for block in re.findall(r"begin_wpp\s+config(.*?)end_wpp", source.tree.read(path), re.S):
            names.update(re.findall(r"FUNC\s+(\w+)", block))
    for project in source.path.parent.glob("*.vcxproj"):
        names.update(re.findall(r"-func:(\w+)", source.tree.read(project)))
        names.update(re.findall(r"WppTraceFunction>\s*(\w+)", source.tree.read(project)))
    return names - {"DoTraceMessage"}


def prepare(source, folder, headers):
    """A folder with what Windows' build makes or overlooks: trace headers, and includes whose
    spelling differs from the file's in letters' case or in slashes. Returns the -I options."""
    folder.mkdir(parents=True, exist_ok=True)
    folders, beside = [], []
    spellings = {path.name.lower(): path for base in headers for path in base.glob("*.h")}
    for name, found, by, quote in source.spelled:
        target = folder / re.sub(r"^(\.\.?/)+", "", name)
        if found is None and compile_messages(source, name, target):
            continue
        if name.lower().endswith(".tmh"):
            lines = ["#include <wpp.h>\n"]
            for function in sorted(own_macros(source)):
                lines.append(f"#ifndef {function}\n#define {function}(...) WPP_NO_TRACE\n#endif\n")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text("".join(lines))
        elif found is None:
            real = spellings.get(name.rsplit("/", 1)[-1].lower())
            if real is not None and real.name != name and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(real)
        else:
            if not (by.parent / name).exists() and not target.exists():
                target.parent.mkdir(parents=True, exist_ok=True)
                target.symlink_to(found)
            if quote == "<":
                folders.append(base_folder(found, name))
            beside.append(found.parent)
    return [f"-I{folder}", *(f"-I{path}" for path in dict.fromkeys(folders)),
            *(f"-iquote{path}" for path in dict.fromkeys(beside))]


MESSAGE_COMPILER = shutil.which("x86_64-w64-mingw32-windmc")


def compile_messages(source, name, target):
    """Makes a header that the tree has only as a text for the message compiler, x.mc for x.h."""
    text = source.tree.find(re.sub(r"\.h$", ".mc", name, flags=re.I), source.path.parent)
    if text is None or MESSAGE_COMPILER is None or not name.lower().endswith(".h"):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    made = subprocess.run([MESSAGE_COMPILER, "-h", target.parent, "-r", target.parent, text],
                          capture_output=True)
    made_as = target.parent / f"{text.stem}.h"
    if made.returncode == 0 and made_as.exists() and made_as != target:
        made_as.rename(target)
    return made.returncode == 0


def base_folder(found, name):
    """The folder in which <name> is the file. A header beside it takes no other header's place."""
    parts = re.sub(r"^(\.\.?/)+", "", name).split("/")
    return found.parents[len(parts) - 1]


def compile_one(source, options, work):
    """The errors of one file."""
    includes = prepare(source, work, options.headers)
    command = [*options.launcher, options.compiler, *options.flags, "-fsyntax-only", "-w",
               f"-I{source.path.parent}", *includes,
               *(f"-I{path}" for path in options.include), *options.define, str(source.path)]
    return run(command, options.verbose)


def run(command, verbose):
    if verbose:
        print(" ".join(command))
    result = subprocess.run(command, capture_output=True, text=True, errors="replace")
    errors = [line for line in result.stderr.splitlines() if re.search(r":\d+: (fatal )?error:", line)]
    if result.returncode != 0 and not errors:
        errors = [result.stderr.strip()[:300] or "the compiler failed"]
    return errors


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path, help="folders of sources")
    parser.add_argument("--compiler", default="clang-19")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--match", default="", help="only files whose path matches this pattern")
    parser.add_argument("--at-least", type=float, default=0.0, metavar="PERCENT",
                        help="fail when fewer compile")
    parser.add_argument("--all-errors", action="store_true", help="every error of each file")
    parser.add_argument("--left-out", action="store_true",
                        help="the files that are no WDM sources, with the reason")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--common", type=int, default=0, metavar="N",
                        help="the N most frequent error texts over all files")
    parser.add_argument("--compiler-alone", dest="launcher", action="store_const", const=[],
                        default=[str(ROOT / "samples/drive/irpverbs-windows-cc")],
                        help="without irpverbs-windows-cc, which lets clang assign to casts")
    parser.add_argument("--cpp", dest="suffixes", action="store_const", default=(".c",),
                        const=(".cpp", ".cxx", ".cc"), help="the C++ files instead of the C files")
    parser.add_argument("--verbose", action="store_true", help="the compiler's command lines")
    parser.add_argument("--define", action="append", default=[], metavar="-D...",
                        help="further options for the compiler")
    options = parser.parse_args()
    for folder in options.folders:
        if not folder.is_dir():
            parser.error(f"{folder} is no folder")
    options.folders = [folder.resolve() for folder in options.folders]
    options.headers = [ROOT / "irp/include/windows"]
    options.include = [*options.headers, ROOT / "irp/include", ROOT / "dispatch/include"]
    options.flags = ["-fshort-wchar", "-fms-extensions"]
    if "clang" not in options.compiler:
        options.launcher = []
    else:
        options.flags += CLANG_WARNINGS
        # In C++ it takes char16_t away.
        options.flags += ["-fms-compatibility"] if ".c" in options.suffixes else ["-std=c++17"]
    return options


def gather(options):
    system = system_headers(options.headers)
    chosen, left_out = [], []
    for folder in options.folders:
        tree = Tree(folder)
        for path in sorted(folder.rglob("*.*")):
            if path.suffix.lower() not in options.suffixes or \
                    not re.search(options.match, str(path)):
                continue
            source = Source(path, tree, system)
            kind = source.framework()
            (left_out if kind else chosen).append((source, kind))
    return [source for source, _ in chosen], left_out


def main():
    options = arguments()
    chosen, left_out = gather(options)
    errors = {}
    with tempfile.TemporaryDirectory() as work, \
            concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(compile_one, source, options, Path(work) / str(number)): source
                for number, source in enumerate(chosen)}
        for job in concurrent.futures.as_completed(jobs):
            errors[jobs[job].path] = job.result()
    good = sum(not found for found in errors.values())
    percent = 100 * good / len(errors) if errors else 0.0
    report(options, chosen, left_out, errors)
    if not options.json:
        print(f"{good} of {len(errors)} WDM files compile as they stand: {percent:.1f} %")
    sys.exit(0 if errors and percent >= options.at_least else 1)


def report(options, chosen, left_out, errors):
    if options.json:
        print(json.dumps({str(path): found for path, found in sorted(errors.items())}, indent=1))
        return
    for source in chosen:
        found = errors[source.path]
        print(f"{'ok  ' if not found else 'FAIL'} {source.path}")
        for line in found if options.all_errors else found[:1]:
            print(f"       {line}")
        if len(found) > 1 and not options.all_errors:
            print(f"       and {len(found) - 1} more")
    texts = Counter()
    for found in errors.values():
        texts.update({re.sub(r"^.*?error: ", "", line) for line in found})
    for text, count in texts.most_common(options.common):
        print(f"{count:5} {text}")
    kinds = Counter(kind for _, kind in left_out)
    for kind, count in kinds.most_common():
        print(f"left out: {count:4} {kind}")
    if options.left_out:
        for source, kind in left_out:
            print(f"       {kind}: {source.path}")


if __name__ == "__main__":
    main()
