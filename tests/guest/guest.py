#!/usr/bin/env python3
"""Runs a program of this machine under a real Linux kernel with RDMA devices, in QEMU.

    guest.py [OPTION...] PROGRAM [ARGUMENT...]

The program is copied into the guest with its shared libraries, runs as root on two processors, and
finds the RDMA devices rxe0 and rxe1, joined by a cable, with all of verbs, rdma_cm and umad. Its
output comes out on standard output. PROGRAM may also be one of the guest's own (sh, ip, tc, rdma).

Exit status: the program's (128 and the signal's number when one ended it), or
  2    wrong usage
  77   there is no QEMU or no kernel package on this machine: skipped, with the reason. With
       IRPVERBS_REQUIRE_GUEST=1 in the environment: 1
  124  timed out; the guest was killed
  125  the guest failed: a kernel panic, a module or a device that would not come up; the reason and
       the end of its console are on standard error
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

from archive import Archive
from image import PACKAGES, Image, Missing, program

SKIPPED, TIMED_OUT, FAILED = 77, 124, 125
KERNEL_ARGUMENTS = (
    "console=ttyS0 loglevel=4 panic=-1 mitigations=off nokaslr no_timer_check random.trust_cpu=on "
    "rcupdate.rcu_expedited=1 cryptomgr.notests audit=0 apparmor=0 "
    "tsc=reliable")  # else each look at the clock asks an emulated device


def own_archive(image, given):
    """What this run adds to the image: the program, its files, what is to be done."""
    archive = Archive(image.paths())
    name = given.program
    if "/" in name:
        name = archive.copy(name)
    for file in given.file:
        archive.copy(file)
    environment = "".join(f"export {shlex.quote(each)}\n" for each in given.env)
    kinds = "" if given.devices == "none" else given.devices.replace(",", " ")
    archive.text("/run/settings", f"kinds={shlex.quote(kinds)}\n")
    archive.text("/run/before", f"set -e\n{given.before}\n")
    archive.text("/run/command",
                 f"{environment}exec {shlex.join([name, *given.arguments])}\n")
    return archive


def qemu(image, initrd, console, given):
    return [  # setpriv: the guest does not outlive this program, however that ends
        "setpriv", "--pdeathsig", "KILL", program("qemu-system-x86_64"),
        "-M", "pc,vmport=off,smbus=off", "-accel", "tcg,thread=multi", "-cpu", "max",
        "-smp", str(given.processors), "-m", str(given.memory),
        "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
        "-kernel", str(image.kernel), "-initrd", str(initrd), "-append", KERNEL_ARGUMENTS,
        "-serial", f"file:{console}",
        "-chardev", "stdio,id=out,signal=off", "-device", "isa-serial,index=1,chardev=out",
        "-device", "isa-debug-exit,iobase=0xf4,iosize=0x01"]


def result_of(console):
    """The exit status that the guest's console tells of, and what to say about it."""
    text = console.read_text(errors="replace").replace("\r", "")
    if found := re.findall(r"^guest: exit (\d+)$", text, re.M):
        return int(found[-1]), ""
    if found := re.findall(r"^guest: (failed: .*)", text, re.M | re.S):
        return FAILED, found[0].strip()
    panic = re.findall(r"Kernel panic - not syncing: .*", text)
    reason = panic[0] if panic else "the guest ended without a word"
    return FAILED, "\n".join([reason, "its console:", *text.splitlines()[-25:]])


def run(image, given):
    with tempfile.TemporaryDirectory(prefix="guest") as scratch:
        initrd = pathlib.Path(scratch) / "initrd"
        initrd.write_bytes(image.initramfs.read_bytes() + own_archive(image, given).bytes())
        console = pathlib.Path(given.console or f"{scratch}/console")
        console.write_bytes(b"")
        sys.stdout.flush()
        with subprocess.Popen(qemu(image, initrd, console, given),
                              stdin=subprocess.DEVNULL) as guest:
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
    made.add_argument("--devices", default="rxe", metavar="KINDS",
                      help="rxe (the default); siw, after tools/bootstrap modules; both (rxe,siw); "
                           "none, which starts half a second sooner")
    made.add_argument("--events", action="store_true",
                      help="/proc/irpverbs_events, which raises what no device raises by itself; "
                           "after tools/bootstrap modules")
    made.add_argument("--before", default="", metavar="COMMAND",
                      help="shell command in the guest before the program; 'tc qdisc add dev rx0 "
                           "root netem loss 1%%' loses packets that rxe0 sends")
    made.add_argument("--file", action="append", default=[],
                      help="another file to copy to its place in the guest; may be repeated")
    made.add_argument("--env", action="append", default=[], metavar="NAME=VALUE",
                      help="a variable of the program; may be repeated")
    made.add_argument("--timeout", type=float, default=250, metavar="SECONDS",
                      help="of the whole run (250)")
    made.add_argument("--processors", type=int, default=2, help="2")
    made.add_argument("--memory", type=int, default=1024, metavar="MB", help="1024")
    made.add_argument("--console", metavar="FILE", help="keeps what the kernel says")
    made.add_argument("--times", action="store_true", help="says on standard error what took how long")
    made.add_argument("--check", action="store_true",
                      help="makes the image, runs nothing: 0, or 77 with the reason")
    made.add_argument("program", nargs="?")
    made.add_argument("arguments", nargs=argparse.REMAINDER)
    return made


def guest(given):
    began = time.monotonic()
    image = Image(PACKAGES)
    image.prepare()
    if given.events:
        image.check_has("irpverbs_events")
    if "siw" in given.devices.split(","):
        image.check_has("siw")
    prepared = time.monotonic()
    status, told = (0, "") if given.check else run(image, given)
    if given.times:
        print(f"guest: image {prepared - began:.2f} s, run {time.monotonic() - prepared:.2f} s",
              file=sys.stderr)
    return status, told


def main():
    given = parser().parse_args()
    if not given.check and given.program is None:
        parser().error("which program?")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        status, told = guest(given)
    except Missing as reason:
        status = 1 if os.environ.get("IRPVERBS_REQUIRE_GUEST") == "1" else SKIPPED
        told = f"{'FAILED' if status == 1 else 'SKIPPED'}: {reason}"
    except OSError as problem:
        status, told = FAILED, str(problem)
    if told:
        print(f"guest: {told}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
