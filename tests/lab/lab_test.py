#!/usr/bin/env python3
"""The lab itself: a subnet comes up, answers, changes, and leaves nothing behind."""
import pathlib
import re
import tempfile
import unittest

from fabric import fabric
from lab import Lab, LabError, process_lives


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

    def test_the_sa_answers(self):
        with self.lab(3) as lab:
            answer = lab.run("H0002", ["saquery", "-p", "--src-to-dst", "1:3"])
            self.assertEqual(answer.returncode, 0, answer.stderr)
            self.assertIn("PathRecord dump", answer.stdout)

    def test_a_link_is_pulled(self):
        with self.lab(3) as lab:
            lab.console('Unlink "H0003"[1]')
            found = lab.run("H0001", ["ibhosts"])
            self.assertEqual(len(re.findall("^Ca", found.stdout, re.M)), 2)

    def test_two_at_once_and_none_left(self):
        pids = []
        other = self.folder / "other.net"
        other.write_text(fabric(2))
        with self.lab(3) as one, Lab(self.folder / "other", other) as two:
            for lab in (one, two):
                pids += [lab.ibsim.pid(), lab.opensm("H0001").pid()]
                self.assertEqual(lab.run("H0002", ["sminfo"]).returncode, 0)
        self.assertFalse([pid for pid in pids if process_lives(pid)])
        self.assertEqual(list((self.folder / "lab").glob("*.pid")), [])

    def test_a_bad_topology_is_told(self):
        topology = self.folder / "bad.net"
        topology.write_text('Hca 1 "A"\n[1] nonsense\n')
        with self.assertRaises(LabError):
            with Lab(self.folder / "lab", topology):
                pass
        with self.assertRaisesRegex(LabError, "no topology file"):
            Lab(self.folder / "lab", self.folder / "none.net").up()

    def test_fabric_refuses_what_cannot_be_built(self):
        for bad in ({"hosts": 0}, {"hosts": 100, "spines": 0}, {"hosts": 9000, "down": 300}):
            with self.assertRaises(ValueError):
                fabric(**bad)


if __name__ == "__main__":
    unittest.main()
