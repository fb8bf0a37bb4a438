#!/usr/bin/env python3
"""Times a cold sweep of 2,048 hosts and 80 switches until all ports are active: our subnet manager's on
the software fabric, then OpenSM's over ibsim, with the same topology file."""
import os
import pathlib
import re
import subprocess
import tempfile
import time
import unittest

from fabric import fabric
from lab import Lab

PROGRAM = os.environ["IRPVERBS_SWEEP_TIME"]
HOSTS = 2048
LEAVES = 64
SPINES = 16
AT_MOST = 3  # times as long as OpenSM
NODES = HOSTS + LEAVES + SPINES


class SweepSpeedTest(unittest.TestCase):
    def test_cold_sweep_is_timed(self):
        scratch = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="sweep")))
        topology = scratch / "fabric.net"
        topology.write_text(fabric(HOSTS, down=HOSTS // LEAVES, spines=SPINES))
        ours = self.our_time(topology)
        opensm = self.opensm_time(scratch / "lab", topology)
        print(f"ours {ours:.2f} s, OpenSM {opensm:.2f} s: {ours / opensm:.2f}, at most {AT_MOST}")
        self.assertLessEqual(ours, AT_MOST * opensm)

    def our_time(self, topology):
        run = subprocess.run([PROGRAM, topology], text=True, timeout=240, capture_output=True,
                             check=False)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        nodes, seconds = re.match(r"(\d+) nodes.*: ([\d.]+) s", run.stdout).groups()
        self.assertEqual(int(nodes), NODES)
        return float(seconds)

    def opensm_time(self, folder, topology):
        """Seconds from OpenSM's start to its SUBNET UP; its own start takes a few hundredths of a second."""
        lab = self.enterContext(Lab(folder, topology, (), ibsim_options=("-N", "4096")))
        start = time.monotonic()
        lab.start_opensm("H0001")
        lab.wait_for_subnet("H0001", 240)
        return time.monotonic() - start


if __name__ == "__main__":
    unittest.main()
