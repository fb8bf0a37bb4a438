#!/usr/bin/env python3
"""libfabric's provider for verbs, unmodified: both ends on one host, since libfabric finds its address at an interface of the system."""
import unittest

from two_processes import TwoProcesses, free_port, listens


class PingPong(TwoProcesses):
    def ping(self, *words):
        port = free_port()
        words = ("fi_pingpong", "-c", "-I", "10", *words)
        server = self.start("host1", *words, "-B", str(port))
        while not listens(port):
            self.assertIsNone(server.poll(), "the server ended")
        client = self.start("host1", *words, "-P", str(port), "127.0.0.1")
        for each in (client, server):
            self.assertRegex(self.output(each), r"(?m)^4k +10 +=10 ")

    def test_connections(self):
        self.ping("-p", "verbs", "-e", "msg")

    def test_datagrams(self):
        self.ping("-p", "verbs", "-e", "dgram", "-d", "irpverbs0-dgram")

    def test_messages_over_datagrams(self):
        self.ping("-p", "verbs;ofi_rxd", "-e", "rdm", "-d", "irpverbs0-dgram", "-S", "4096")


if __name__ == "__main__":
    unittest.main()
