#!/usr/bin/env python3
"""Runs a program of this machine under a real Linux kernel with RDMA devices.

    guest.py [OPTION...] PROGRAM [ARGUMENT...]
    guest.py --uml [OPTION...] PROGRAM [ARGUMENT...]
    guest.py --build-uml

The program runs as root, in the folder /, and finds the RDMA devices rxe0 and rxe1, joined by a cable,
with all of verbs, rdma_cm and umad. Its output is written to standard output. PROGRAM may also be one
of the guest's own (sh, ip, tc, rdma).

The guest is QEMU with Debian's kernel: two processors, and the program is copied into it with its
shared libraries. With --uml it is User Mode Linux, which --build-uml builds once, in some minutes, and
which starts in half a second: one processor, no address or thread sanitizer, and all of this machine's
files are visible. In both, files that the program writes (coverage and --gtest_output too) are in memory
and lost at the end, except below a folder of --keep with --uml.

Exit status: the program's (128 and the signal's number when one ended it), or
  2    wrong usage
  77   skipped, since this machine has no QEMU, no kernel package, or no User Mode Linux; the reason is
       printed. With IRPVERBS_REQUIRE_GUEST=1 in the environment: 1, but 77 with --uml
  124  timed out; the guest was killed
  125  the guest failed: a kernel panic, or a module or device did not start; the reason and the end of
       its console are on standard error
"""
import argparse
import os
import pathlib
import re
import shlex
import signal
import subprocess
import sys
import tempfile
import time

from archive import place_of
from image import Missing
from qemu import Qemu
from uml import Uml, why_not

SKIPPED, TIMED_OUT, FAILED = 77, 124, 125


def orders_of(given):
    """The files in the guest's /run from which `init` reads its orders."""
    program = place_of(given.program) if "/" in given.program else given.program
    environment = "".join(f"export {shlex.quote(each)}\n" for each in given.env)
    kinds = "" if given.devices == "none" else given.devices.replace(",", " ")
    return {"settings": f"kinds={shlex.quote(kinds)}\n",
            "before": f"set -e\n{given.before}\n",
            "command": f"{environment}exec {shlex.join([program, *given.arguments])}\n"}


def result_of(console):
    """The exit status found in the guest's console, and a message about it."""
    text = console.read_text(errors="replace").replace("\r", "")
    if found := re.findall(r"^guest: exit (\d+)$", text, re.M):
        return int(found[-1]), ""
    if found := re.findall(r"^guest: (failed: .*)", text, re.M | re.S):
        return FAILED, found[0].strip()
    before, panic, after = text.partition("Kernel panic - not syncing: ")
    reason = panic + after.partition("\n")[0] if panic else "the guest ended without a result"
    excerpt = [*before.splitlines()[-15:], *(panic + after).splitlines()[:10]]
    return FAILED, "\n".join([reason, "its console:", *excerpt])


def run(machine, given):
    with tempfile.TemporaryDirectory(prefix="guest") as scratch:
        console = pathlib.Path(given.console or f"{scratch}/console")
        console.write_bytes(b"")
        sys.stdout.flush()
        with machine.started(orders_of(given), scratch, console, given) as guest:
            try:
                guest.wait(given.timeout)
            except subprocess.TimeoutExpired:
                tail = console.read_text(errors="replace").splitlines()[-5:]
                return TIMED_OUT, "\n".join([f"timed out after {given.timeout} s", *tail])
            finally:
                guest.kill()
        return result_of(console)


def parser():
    made = argparse.ArgumentParser(description=__doc__, usage=argparse.SUPPRESS,
                                   formatter_class=argparse.RawDescriptionHelpFormatter)
    made.add_argument("--uml", action="store_true", help="User Mode Linux in place of QEMU")
    made.add_argument("--build-uml", action="store_true",
                      help="builds User Mode Linux, after tools/bootstrap uml, and runs nothing")
    made.add_argument("--keep", action="append", default=[], metavar="FOLDER",
                      help="with --uml: files written below this folder are kept on this machine; may "
                           "be repeated")
    made.add_argument("--devices", default="rxe", metavar="KINDS",
                      help="rxe (the default); siw; both (rxe,siw); none, which starts "
                           "half a second sooner. siw in QEMU needs tools/bootstrap modules")
    made.add_argument("--events", action="store_true",
                      help="/proc/irpverbs_events, which raises events that no device raises by itself. "
                           "In QEMU it needs tools/bootstrap modules; with --uml it always exists")
    made.add_argument("--before", default="", metavar="COMMAND",
                      help="shell command in the guest before the program; 'tc qdisc add dev rx0 "
                           "root netem loss 1%%' drops packets that rxe0 sends")
    made.add_argument("--file", action="append", default=[],
                      help="another file to copy to its path in the guest; may be repeated. With "
                           "--uml all files are visible")
    made.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                      help="an environment variable of the program; may be repeated")
    made.add_argument("--timeout", type=float, default=500, metavar="SECONDS",
                      help="limit for the whole run (500)")
    made.add_argument("--processors", type=int, help="2; with --uml 1, and no other number")
    made.add_argument("--memory", type=int, default=1024, metavar="MB", help="1024")
    made.add_argument("--console", metavar="FILE", help="file for the kernel's console output")
    made.add_argument("--times", action="store_true", help="prints times on standard error")
    made.add_argument("--check", action="store_true",
                      help="makes the image, but not User Mode Linux, and runs nothing: 0, or 77 "
                           "with the reason")
    made.add_argument("program", nargs="?")
    made.add_argument("arguments", nargs=argparse.REMAINDER)
    return made


def understood():
    """The options; exits if they contradict each other."""
    made = parser()
    given = made.parse_args()
    given.uml = given.uml or given.build_uml
    if not (given.check or given.build_uml) and given.program is None:
        made.error("PROGRAM is missing")
    if given.keep and not given.uml:
        made.error("--keep needs --uml: QEMU keeps no files")
    if given.processors is None:
        given.processors = 1 if given.uml else 2
    if given.uml and (reason := why_not(given)):
        made.error(reason)
    return given


def guest(given):
    began = time.monotonic()
    machine = Uml() if given.uml else Qemu()
    machine.prepare(given)
    prepared = time.monotonic()
    status, message = (0, "") if given.check or given.build_uml else run(machine, given)
    if given.times:
        print(f"guest: image {prepared - began:.2f} s, run {time.monotonic() - prepared:.2f} s",
              file=sys.stderr)
    return status, message


def status_when_missing(given):
    if given.build_uml:
        return FAILED
    required = os.environ.get("IRPVERBS_REQUIRE_GUEST") == "1" and not given.uml
    return 1 if required else SKIPPED


def main():
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        given = understood()
        status, message = guest(given)
    except Missing as reason:
        status = status_when_missing(given)
        message = f"{'SKIPPED' if status == SKIPPED else 'FAILED'}: {reason}"
    except OSError as problem:
        status, message = FAILED, str(problem)
    if message:
        print(f"guest: {message}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
