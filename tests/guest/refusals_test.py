#!/usr/bin/env python3
"""irpctl prints one line and exits with 1 for devices that can't be used, or not in that way."""
import os
import shlex
import sys
import unittest

import guest_script

IRPCTL = os.environ["IRPVERBS_IRPCTL"]
UNPRIVILEGED = "nobody"


def irpctl(hca, *words):
    return shlex.join([IRPCTL, "--hca", hca, *words])


def unprivileged(command):
    return f"busybox su -s /bin/sh {UNPRIVILEGED} -c {shlex.quote(command)}"


COMMANDS = {
    "umad not readable": unprivileged(irpctl("rdma:rxe0", "devices")),
    "verbs not readable": "chmod 600 /dev/infiniband/uverbs0; " +
                          unprivileged(irpctl("rdma:rxe0", "devices")),
    "all, one not readable": unprivileged(irpctl("rdma:", "devices")),
    "no such device": irpctl("rdma:nosuch", "devices"),
    "two of one GUID": irpctl("rdma:", "devices"),
    "a LID on Ethernet": irpctl("rdma:rxe0", "ping", "--lid", "1"),
    "a LID on iWARP": irpctl("rdma:siw0", "ping", "--lid", "1"),
    "paths on Ethernet": irpctl("rdma:rxe0", "paths"),
    "a datagram on Ethernet": irpctl("rdma:rxe0", "mad", "--lid", "1"),
    "without ib_umad": "busybox rmmod ib_umad && " + irpctl("rdma:rxe0", "devices"),
    "without ib_umad, a LID": irpctl("rdma:rxe0", "ping", "--lid", "1"),
}
WHO_MAY = ": Permission denied: it must be readable and writable (by root, or by a udev rule)"


class RefusalsTest(unittest.TestCase):
    said = {}

    def expect_line(self, name, *parts):
        status, output = self.said[name]
        self.assertEqual(status, 1, output)
        self.assertEqual(len(output.splitlines()), 1, output)
        for part in ("irpctl: ", *parts):
            self.assertIn(part, output)

    def test_unreadable_file_is_named_with_the_permission(self):
        self.expect_line("umad not readable", "/dev/infiniband/umad0" + WHO_MAY)
        self.expect_line("verbs not readable", "/dev/infiniband/uverbs0" + WHO_MAY)
        self.expect_line("all, one not readable", "/dev/infiniband/uverbs0" + WHO_MAY)

    def test_missing_device_is_reported_with_the_existing_ones(self):
        self.expect_line("no such device", "no InfiniBand device 'nosuch'", "rxe0, rxe1, siw0, siw1")

    def test_two_devices_of_one_guid_are_reported(self):
        """rxe and siw of the same network interface have one GUID."""
        self.expect_line("two of one GUID", "siw0: another HCA has its GUID")

    def test_lid_on_ethernet_is_an_error(self):
        for name in ("a LID on Ethernet", "paths on Ethernet", "a datagram on Ethernet",
                     "without ib_umad, a LID"):
            self.expect_line(name, "rxe0 port 1 is an Ethernet port", "LID")
        self.expect_line("a LID on iWARP", "siw0 port 1 is an Ethernet port", "LID")

    def test_missing_ib_umad_lists_devices(self):
        status, output = self.said["without ib_umad"]
        self.assertEqual(status, 0, output)
        heading, row = output.splitlines()
        self.assertIn("DEVICE", heading)
        self.assertIn("rxe0", row)


if __name__ == "__main__":
    ended, RefusalsTest.said = guest_script.run("rxe,siw", [IRPCTL], COMMANDS)
    if ended != 0:
        sys.exit(ended)
    unittest.main()
