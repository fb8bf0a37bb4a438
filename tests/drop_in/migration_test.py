#!/usr/bin/env python3
"""QEMU, unmodified: a virtual machine migrates from one host of the fabric to another."""
import subprocess
import unittest

from drop_in import environment
from rdmacm_test import SERVER, ConnectedPrograms

MACHINE = ("qemu-system-x86_64", "-m", "16", "-nodefaults", "-display", "none", "-accel", "tcg", "-S")
URI = f"rdma:{SERVER}:4444"


class VirtualMachine(ConnectedPrograms):
    def test_memory_crosses_the_fabric(self):
        self.start_server(*MACHINE, "-incoming", URI)
        asked = f"migrate {URI}\ninfo migrate\nquit\n"
        source = subprocess.run((*MACHINE, "-monitor", "stdio"), env=environment(self.daemon.host("host2")), input=asked,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=500, check=False)
        self.assertEqual(source.returncode, 0, source.stdout)
        self.assertIn("Migration status: completed", source.stdout)


if __name__ == "__main__":
    unittest.main()
