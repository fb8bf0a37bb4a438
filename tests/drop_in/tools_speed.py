#!/usr/bin/env python3
"""Times infiniband-diags on a fat tree of 1,008 hosts: on a daemon with the library's subnet manager, and over ibsim
with OpenSM. Started by hand (docs/speed.md):

    chrt -r 1 tests/drop_in/tools_speed.py build/release
"""
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

if len(sys.argv) != 2:
    sys.exit(f"usage: {sys.argv[0]} BUILD")
BUILD = Path(sys.argv[1]).resolve()
TESTS = Path(__file__).resolve().parent.parent
os.environ["IRPVERBS_DROP_IN"] = str(BUILD / "lib/irpverbs")
os.environ["IRPVERBS_LAB_SHIM"] = str(BUILD / "tests/lab/libumad_shim.so") # ibsim's own has no RMPP
sys.path += [str(TESTS / "lab"), str(TESTS / "drop_in")]
# pylint: disable=wrong-import-position
from drop_in import environment
from fabric import fabric
from lab import Lab

ROUNDS = 5
COMMANDS = ("ibnetdiscover", "iblinkinfo", "saquery MCMR", "saquery NR", "saquery LR", "saquery PIR", "saquery --src-to-dst H0001:H0900")


def fastest(run):
    """The shortest time of some runs, which all succeed."""
    times = []
    for _ in range(ROUNDS):
        start = time.monotonic()
        ended = run()
        times.append(time.monotonic() - start)
        if ended.returncode != 0:
            sys.exit(f"{ended.args}: status {ended.returncode}\n{ended.stderr}")
    return min(times)


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        topology = folder / "fabric.net"
        topology.write_text(fabric(28 * 36, down=36, spines=12))
        socket = folder / "served/socket"
        command = [BUILD / "samples/irpverbsd/irpverbsd", "--hca", f"software:{topology}", "--socket", socket]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
            daemon.stdout.readline()
            variables = environment(f"user:{socket}?host=H0001")
            ours = {words: fastest(lambda words=words: subprocess.run(words.split(), env=variables, capture_output=True, text=True, check=False))
                    for words in COMMANDS}
            daemon.terminate()
        with Lab(folder / "lab", topology, (), ibsim_options=("-N", "4096")) as lab:
            lab.start_opensm("H0001")
            lab.wait_for_subnet("H0001", 240)
            theirs = {words: fastest(lambda words=words: lab.run("H0002", words.split())) for words in COMMANDS}
    for words in COMMANDS:
        print(f"{words:36} {ours[words] * 1000:8.1f} ms {theirs[words] * 1000:8.1f} ms {ours[words] / theirs[words]:6.2f}")


if __name__ == "__main__":
    main()
