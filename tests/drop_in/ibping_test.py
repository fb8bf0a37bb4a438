#!/usr/bin/env python3
"""ibping, unmodified: a server and a client on two hosts of one daemon's fabric."""
import unittest

from two_processes import TwoProcesses, are_idle


class IbPing(TwoProcesses):
    def setUp(self):
        super().setUp()
        self.server = self.start("host2", "ibping", "-S")
        while self.daemon.status().startswith("0 open HCAs") or not are_idle(self.server, self.daemon.process):
            self.assertIsNone(self.server.poll(), "the server ended")

    def test_pings_reach_a_lid_and_a_guid(self):
        for to in (("3",), ("-G", "0x0200000000000201")):
            out = self.output(self.start("host1", "ibping", "-c", "1", *to))
            self.assertRegex(out, r"^Pong from .* \(Lid 3\): time [\d.]+ ms\n")
            self.assertIn("1 packets transmitted, 1 received, 0% packet loss", out)

    def test_flood_loses_nothing(self):
        out = self.output(self.start("host4", "ibping", "-f", "-c", "1000", "3"))
        self.assertIn("1000 packets transmitted, 1000 received, 0% packet loss", out)

    def test_host_without_a_server_does_not_respond(self):
        client = self.start("host1", "ibping", "-t", "10", "-c", "1", "4")
        self.assertIn("1 packets transmitted, 0 received, 100% packet loss", client.communicate(timeout=300)[0])


if __name__ == "__main__":
    unittest.main()
