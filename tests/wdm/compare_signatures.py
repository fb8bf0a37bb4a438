#!/usr/bin/env python3
"""Compares the functions that irpverbs::windows declares with those of Windows' headers, of which the
user has a copy: mingw-w64's (Debian's mingw-w64-common) unless others are named.

Compared are the types of results and parameters: the size and sign of integers, the names of structures
and enumerations, and what pointers point to, without const. Functions of one side alone are counted.
"""
import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
OURS = ["-fshort-wchar", f"-I{ROOT / 'irp/include/windows'}", f"-I{ROOT / 'irp/include'}",
        f"-I{ROOT / 'dispatch/include'}"]
OURS_INCLUDED = ["ntifs.h", "ntddk.h", "ntstrsafe.h", "wdmsec.h", "wmilib.h"]
THEIRS = ["--target=x86_64-w64-mingw32", "-D_WIN32_WINNT=0x0A00", "-DNTDDI_VERSION=0x0A000000"]
THEIRS_INCLUDED = [f"ddk/{name}" for name in OURS_INCLUDED]

# Other names of one type.
SAME = {"ETHREAD": "KTHREAD", "KPROCESS": "EPROCESS", "KGUARDED_MUTEX": "FAST_MUTEX", "FSINFOCLASS": "FS_INFORMATION_CLASS"}

PAGED = "one type serves paged and nonpaged lookaside lists"
PLAIN = "the core knows no types of objects; a macro of objects.h converts"
NOTIFY = "PNOTIFY_SYNC is opaque in the documentation too, and no PVOID"
SIZE = "the documentation has SIZE_T"
MACRO = "the documentation has a macro without a result"
# Where the two differ, and why.
EXPECTED = {
    "ExAllocateFromPagedLookasideList": PAGED, "ExDeletePagedLookasideList": PAGED,
    "ExFreeToPagedLookasideList": PAGED, "ExInitializePagedLookasideList": PAGED,
    "ExInitializePushLock": "EX_PUSH_LOCK is opaque in the documentation, and larger here",
    "ExNotifyCallback": "the documentation has PVOID",
    "FsRtlAllocatePool": SIZE, "FsRtlAllocatePoolWithQuota": SIZE, "FsRtlAllocatePoolWithQuotaTag": SIZE,
    "FsRtlAllocatePoolWithTag": SIZE,
    "FsRtlFastCheckLockForWrite": "the documentation has PVOID",
    "FsRtlNotifyCleanup": NOTIFY, "FsRtlNotifyCleanupAll": NOTIFY, "FsRtlNotifyFilterChangeDirectory": NOTIFY,
    "FsRtlNotifyFilterReportChange": NOTIFY, "FsRtlNotifyFullChangeDirectory": NOTIFY,
    "FsRtlNotifyFullReportChange": NOTIFY, "FsRtlNotifyInitializeSync": NOTIFY, "FsRtlNotifyUninitializeSync": NOTIFY,
    "MmMapLockedPagesSpecifyCache": "the documentation has ULONG",
    "ObReferenceObjectByHandle": PLAIN, "PsCreateSystemThread": PLAIN,
    "ObDereferenceObject": MACRO, "ObReferenceObject": MACRO,
    "RtlFreeHeap": "the documentation has LOGICAL",
}


SIZES = {"char": 8, "short": 16, "int": 32, "long long": 64}
INTEGER = re.compile(r"\b(unsigned |signed )?(char|short|int|long long|long)\b")


def normal(text, size_of_long):
    """The same text for the same type, in the data models of Windows and of Linux."""
    text = re.sub(r"\b(const|volatile) |\b(wchar_t)\b", lambda m: "unsigned short" if m[2] else "", text)
    text = re.sub(r"\b__va_list_tag\b", "char", text)  # the target's own
    text = INTEGER.sub(lambda m: f"{'u' if m[1] == 'unsigned ' else ''}int{SIZES.get(m[2], size_of_long)}", text)
    text = re.sub(r"\b_+(?=[A-Z])", "", text)
    return re.sub(r"\w+", lambda m: SAME.get(m[0], m[0]), text).replace(" ", "").replace("&", "*")


def signatures(compiler, names, includes, options, size_of_long):
    """The names that are functions, each with its type, by clang's complaint about a template without a definition."""
    head = ["extern \"C\" {", *(f"#include <{name}>" for name in includes), "}", "template <class T> struct shown;"]
    with tempfile.TemporaryDirectory() as work:
        source = Path(work) / "all.cpp"
        source.write_text("\n".join(head + [f"shown<decltype({name})> of_{name};" for name in names]))
        found = subprocess.run([compiler, "-fsyntax-only", "-std=gnu++20", "-fms-extensions", "-w", "-ferror-limit=0", "-fno-spell-checking",
                                *options, str(source)], capture_output=True, text=True, check=False).stderr
    told = re.compile(r"all\.cpp:(\d+):\d+: error: implicit instantiation of undefined template 'shown<(.*\(.*\))(?: noexcept)?>'")
    return {names[int(line) - len(head) - 1]: normal(kind, size_of_long) for line, kind in told.findall(found)}


def declared():
    text = "".join(path.read_text() for folder in ("irp/include", "dispatch/include")
                   for path in (ROOT / folder).rglob("*.h"))
    return sorted(set(re.findall(r"\b([A-Z][A-Za-z]*[a-z]\w+)\(", text)) | {"vDbgPrintEx", "vDbgPrintExWithPrefix"})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("headers", nargs="?", type=Path, default=Path("/usr/share/mingw-w64/include"))
    parser.add_argument("--compiler", default="clang-19", help="a clang")
    options = parser.parse_args()
    if not (options.headers / "ddk/ntifs.h").exists():
        sys.exit(f"compare_signatures.py: {options.headers} has no ddk/ntifs.h")
    names = declared()
    ours = signatures(options.compiler, names, OURS_INCLUDED, OURS, 64)
    theirs = signatures(options.compiler, names, THEIRS_INCLUDED,
                        [*THEIRS, f"-isystem{options.headers}", f"-isystem{options.headers / 'ddk'}"], 32)
    both = sorted(ours.keys() & theirs.keys())
    wrong = [name for name in both if ours[name] != theirs[name] and name not in EXPECTED]
    stale = [name for name in EXPECTED if name not in both or ours[name] == theirs[name]]
    for name in wrong:
        print(f"{name}:\n  here   {ours[name]}\n  there  {theirs[name]}")
    for name in stale:
        print(f"{name}: expected to differ, and does not")
    print(f"{len(both) - len(wrong) - len(EXPECTED)} of {len(both)} functions agree, {len(EXPECTED)} differ for a "
          f"reason; {len(ours.keys() - theirs.keys())} are declared only here")
    sys.exit(1 if wrong or stale or not both else 0)


if __name__ == "__main__":
    main()
