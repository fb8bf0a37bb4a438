"""Base class of tests that each have a new lab: `hosts` hosts, OpenSM on `sm_hosts`, the first as master."""
import os
import pathlib
import tempfile
import unittest

from fabric import fabric
from lab import Lab


class LabCase(unittest.TestCase):
    hosts = 2
    sm_hosts = ("H0001",)
    opensm_options = ()

    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="lab")
        self.addCleanup(scratch.cleanup)
        topology = pathlib.Path(scratch.name) / "fabric.net"
        topology.write_text(fabric(self.hosts))
        self.lab = self.enterContext(Lab(pathlib.Path(scratch.name) / "lab", topology,
                                         self.sm_hosts, opensm_options=self.opensm_options))

    def set_faults(self, faults):
        """Sets variables of the shim for programs that are started from now on."""
        for name, value in faults.items():
            os.environ[name] = str(value)
            self.addCleanup(os.environ.pop, name)
