#!/usr/bin/env python3
"""Tests the lab itself: a subnet comes up, answers, changes, and ends without leftovers."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

from fabric import fabric
from lab import Lab, LabError, process_lives, wait_until

# A test with a lab and a client that does not end. It prints the process ids that it started.
ENDLESS = """
import subprocess, unittest
from lab_case import LabCase

class Endless(LabCase):
    def test(self):
        client = self.lab.start("H0002", ["sleep", "1000"])
        print(self.lab.folder, self.lab.ibsim.pid(), self.lab.opensm("H0001").pid(), client.pid,
              flush=True)
        client.wait()

unittest.main()
"""


class LabTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="lab")
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def lab(self, hosts, **more):
        topology = self.folder / "fabric.net"
        topology.write_text(fabric(hosts))
        return Lab(self.folder / "lab", topology, **more)

    def test_every_host_is_found(self):
        with self.lab(40) as lab:
            found = lab.run("H0040", ["ibhosts"])
            self.assertEqual(found.returncode, 0, found.stderr)
            self.assertEqual(len(re.findall("^Ca", found.stdout, re.M)), 40)
            state = lab.run("H0040", ["ibstat"])
            self.assertIn("State: Active", state.stdout)

    def test_sa_query_succeeds(self):
        with self.lab(3) as lab:
            result = lab.run("H0002", ["saquery", "-p", "--src-to-dst", "1:3"])
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertIn("PathRecord dump", result.stdout)

    def test_pulled_link_goes_down(self):
        with self.lab(3) as lab:
            lab.console('Unlink "H0003"[1]')
            found = lab.run("H0001", ["ibhosts"])
            self.assertEqual(len(re.findall("^Ca", found.stdout, re.M)), 2)

    def test_two_labs_at_once_leave_nothing(self):
        pids = []
        other = self.folder / "other.net"
        other.write_text(fabric(2))
        with self.lab(3) as one, Lab(self.folder / "other", other) as two:
            for lab in (one, two):
                pids += [lab.ibsim.pid(), lab.opensm("H0001").pid()]
                self.assertEqual(lab.run("H0002", ["sminfo"]).returncode, 0)
        self.assertFalse([pid for pid in pids if process_lives(pid)])
        self.assertEqual(list((self.folder / "lab").glob("*.pid")), [])

    def test_exception_leaves_nothing(self):
        with self.assertRaises(ZeroDivisionError):
            with self.lab(3) as lab:
                pids = [lab.ibsim.pid(), lab.opensm("H0001").pid()]
                os.kill(pids[1], signal.SIGSTOP)
                1 / 0
        self.assertFalse([pid for pid in pids if process_lives(pid)])
        self.assertEqual(list((self.folder / "lab").glob("*.pid")), [])

    def ended_by(self, deed):
        """Sends the signal `deed` to a test with a lab, checks that no process is left, and returns the
        lab's folder."""
        with subprocess.Popen([sys.executable, "-c", ENDLESS], text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, cwd=pathlib.Path(__file__).parent,
                              env=dict(os.environ, TMPDIR=str(self.folder))) as test:
            self.addCleanup(test.kill)
            folder, *pids = test.stdout.readline().split()
            self.assertEqual(len(pids), 3)
            self.assertTrue(all(process_lives(pid) for pid in pids))
            test.send_signal(deed)
            self.assertNotEqual(test.wait(30), 0)
        self.assertTrue(wait_until(lambda: not any(map(process_lives, pids)), 10))
        return pathlib.Path(folder)

    def test_sigterm_leaves_nothing(self):
        folder = self.ended_by(signal.SIGTERM)
        self.assertFalse(folder.parent.exists())
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_sigint_leaves_nothing(self):
        self.assertFalse(self.ended_by(signal.SIGINT).parent.exists())

    def test_sigkill_leaves_nothing(self):
        self.ended_by(signal.SIGKILL)

    def test_bad_topology_is_reported(self):
        topology = self.folder / "bad.net"
        topology.write_text('Hca 1 "A"\n[1] nonsense\n')
        with self.assertRaises(LabError):
            with Lab(self.folder / "lab", topology):
                pass
        with self.assertRaisesRegex(LabError, "no topology file"):
            Lab(self.folder / "lab", self.folder / "none.net").up()

    def test_impossible_sizes_are_rejected(self):
        for bad in ({"hosts": 0}, {"hosts": 100, "spines": 0}, {"hosts": 9000, "down": 300}):
            with self.assertRaises(ValueError):
                fabric(**bad)


if __name__ == "__main__":
    unittest.main()
