#!/usr/bin/env python3
"""Measures how fast irpctl and saquery, in turn, fetch all paths of a subnet from OpenSM.

Their output is discarded. The results are the median of the rounds' ratios and irpctl's peak memory.
Exits with 1 when a bar is missed. docs/speed.md has the figures.
IRPVERBS_IRPCTL names the program, IRPVERBS_LAB_SHIM the shim.
"""
import argparse
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

from fabric import fabric
from lab import Lab

HOST = "H0002"
SAQUERY = ("saquery", "-p")
MOST_TIME = 0.85
MOST_MEMORY = 64 << 20


def irpctl(*options):
    return (os.environ["IRPVERBS_IRPCTL"], *options, "--hca", "rdma:", "sa", "path")


# Until exec the peak memory of a process includes its parent's, so this small program is the parent.
STARTER = r"""import resource, subprocess, sys
status = subprocess.call(sys.argv[1:])
sys.stderr.write("\n%d" % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
sys.exit(status)"""


class Run:
    """A program's time and peak memory, which is at least about 10 MiB."""

    def __init__(self, lab, command, output=subprocess.DEVNULL):
        begun = time.monotonic()
        with lab.start(HOST, [sys.executable, "-I", "-S", "-c", STARTER, *command], stdout=output,
                       stderr=subprocess.PIPE) as program:
            _, errors = program.communicate()
        self.seconds = time.monotonic() - begun
        self.status = program.returncode
        self.said, _, kilobytes = errors.rpartition("\n")
        self.memory = int(kilobytes) << 10

    def of_success(self):
        if self.status != 0:
            sys.exit(f"all_pairs_speed: status {self.status}: {self.said.strip()}")
        return self


def pairs_of(lab):
    """The number of paths that irpctl prints by default."""
    with tempfile.TemporaryFile() as output:
        Run(lab, irpctl("--json"), output).of_success()
        output.seek(0)
        return sum(1 for _ in output)


def measured(hosts, rounds):
    with tempfile.TemporaryDirectory(prefix="pairs") as scratch:
        topology = pathlib.Path(scratch) / "fabric.net"
        topology.write_text(fabric(hosts))
        with Lab(pathlib.Path(scratch) / "lab", topology) as lab:
            by_default = Run(lab, SAQUERY)
            print(f"{pairs_of(lab)} pairs; saquery by its default options: status "
                  f"{by_default.status}, {by_default.said.strip() or 'no message'}")
            return [(Run(lab, (*SAQUERY, "-t", "200000")).of_success(),
                     Run(lab, irpctl()).of_success()) for _ in range(rounds)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--hosts", type=int, default=1920)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tolerance", type=float, default=0.1, help="fraction by which the time bar may be missed (0.1)")
    given = parser.parse_args()
    rounds = measured(given.hosts, given.rounds)
    for theirs, ours in rounds:
        print(f"saquery {theirs.seconds:.2f} s, {theirs.memory >> 20} MiB; "
              f"irpctl {ours.seconds:.2f} s, {ours.memory >> 20} MiB")
    time_ratio = statistics.median(ours.seconds / theirs.seconds for theirs, ours in rounds)
    memory = max(ours.memory for _, ours in rounds)
    in_time = time_ratio <= MOST_TIME * (1 + given.tolerance)
    in_memory = memory <= MOST_MEMORY
    print(f"time {time_ratio:.2f}  bar <= {MOST_TIME}  {'met' if in_time else 'missed'}")
    print(f"memory {memory >> 20} MiB  bar <= {MOST_MEMORY >> 20}  "
          f"{'met' if in_memory else 'missed'}")
    return 0 if in_time and in_memory else 1


if __name__ == "__main__":
    sys.exit(main())
