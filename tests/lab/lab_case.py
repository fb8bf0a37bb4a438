"""Tests that each have a lab of their own: `hosts` hosts, OpenSM on the first."""
import os
import pathlib
import tempfile
import unittest

from fabric import fabric
from lab import Lab


class LabCase(unittest.TestCase):
    hosts = 2

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="lab")
        self.addCleanup(scratch.cleanup)
        topology = pathlib.Path(scratch.name) / "fabric.net"
        topology.write_text(fabric(self.hosts))
        self.lab = self.enterContext(Lab(pathlib.Path(scratch.name) / "lab", topology))

    def set_faults(self, faults):
        """Variables of the shim, for the programs that are started from now on."""
        for name, value in faults.items():
            os.environ[name] = str(value)
            self.addCleanup(os.environ.pop, name)
