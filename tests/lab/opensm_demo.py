#!/usr/bin/env python3
"""Runs a program on a host of a lab under OpenSM, with commands that pull and mend a cable there.

usage: opensm_demo.py PROGRAM [TOPOLOGY]
PROGRAM gets --hca rdma:, and --pull and --mend with one command each, for the last host of the file.
TOPOLOGY is a file of ibsim or ibnetdiscover; the default is a fat tree of 100 hosts.
"""
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

from fabric import fabric
from lab import Lab, LabError, tied

# Matches, for example: Ca 1 "H-0002c90200219e64" # "node description"
HOST = re.compile(r'^\s*(?:Ca|Hca)\s+\d+\s+"([^"]+)"', re.MULTILINE)


def hosts_of(topology):
    try:
        found = HOST.findall(topology.read_text())
    except (OSError, UnicodeDecodeError) as problem:
        raise LabError(f"{topology}: {problem}")
    if len(found) < 3:
        raise LabError(f"{topology}: fewer than three hosts, such as Hca 1 \"name\": OpenSM, one that asks, "
                       "and one whose cable is pulled")
    return found


def port_of(topology, host):
    """The host's first port with a cable."""
    lines = topology.read_text().split(f'"{host}"', 1)[1].splitlines()[1:]
    for line in lines:
        cable = re.match(r"\s*\[(\d+)\]", line)
        if cable:
            return cable.group(1)
    raise LabError(f"{topology}: {host} has no cable")


def console(folder, command):
    lab = pathlib.Path(__file__).with_name("lab.py")
    words = ["env", "-u", "LD_PRELOAD", sys.executable, str(lab), "console", str(folder), command]
    return shlex.join(words) + " > /dev/null"


def show(program, topology, folder):
    hosts = hosts_of(topology)
    with Lab(folder, topology, (hosts[0],)) as lab:
        print(f"OpenSM runs on {hosts[0]}; all that follows is asked from {hosts[1]}.", flush=True)
        cable = f'"{hosts[-1]}"[{port_of(topology, hosts[-1])}]'
        command = [program, "--hca", "rdma:", "--pull", console(lab.folder, f"Unlink {cable}"),
                   "--mend", console(lab.folder, f"Relink {cable}")]
        return subprocess.run(tied(command), env=lab.environment(hosts[1]), timeout=300,
                              check=False).returncode


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory(prefix="irpverbs-lab") as scratch:
        folder = pathlib.Path(scratch)
        topology = folder / "fabric.net"
        if len(sys.argv) == 3:
            topology = pathlib.Path(sys.argv[2])
        else:
            topology.write_text(fabric(100))
        try:
            return show(sys.argv[1], topology, folder / "lab")
        except LabError as problem:
            sys.exit(f"demo: {problem}")


if __name__ == "__main__":
    sys.exit(main())
