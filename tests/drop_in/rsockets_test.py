#!/usr/bin/env python3
"""riostream and rstream, unmodified, over the stream sockets of the drop-in librdmacm: two processes on the fabric of one daemon."""
import unittest

from rdmacm_test import SERVER, SERVERS_GID, ConnectedPrograms


class Rsockets(ConnectedPrograms):
    REFUSED = "rconnect: Connection refused|rpoll: Operation now in progress" # a refusal that rpoll reports has no number yet

    def transfer(self, *words, address=SERVER):
        """The server polls for a connection without a pause, so nothing shows when it listens: the client starts anew until then."""
        server = self.start("host1", *words)
        while True:
            client = self.start("host2", *words, "-s", address)
            out = client.communicate(timeout=500)[0]
            if client.returncode == 0:
                break
            self.assertRegex(out, self.REFUSED)
            self.assertIsNone(server.poll(), "the server ended")
        self.assertRegex(out, r"(?m)^custom ")
        self.assertRegex(self.output(server), r"(?m)^custom ")

    def test_riostream_checks_what_it_writes_directly(self):
        for how in ("blocking", "nonblocking", "async"):
            for size in ("1", "64", "20000", "1000000"):
                with self.subTest(how=how, size=size):
                    self.transfer("riostream", "-T", how, "-T", "verify", "-I", "5", "-C", "5", "-S", size)

    def test_rstream_checks_what_it_receives(self):
        for how in ("blocking", "nonblocking", "async", "resolve"):
            for size in ("1", "64", "20000", "1000000"):
                with self.subTest(how=how, size=size):
                    self.transfer("rstream", "-T", how, "-T", "verify", "-I", "5", "-C", "5", "-S", size)

    def test_addresses_of_ipv6(self):
        self.transfer("rstream", "-T", "blocking", "-I", "5", "-C", "5", "-S", "64", "-b", "::", address=SERVERS_GID)

    def test_small_buffers(self):
        self.transfer("rstream", "-T", "blocking", "-T", "verify", "-B", "4096", "-I", "5", "-C", "5", "-S", "100000")

    def test_connection_of_another_protocol_is_rejected(self):
        server = self.start_server("rstream", "-T", "blocking")
        other = self.start("host2", "rping", "-c", "-a", SERVER, "-p", "7471")
        self.assertIn("RDMA_CM_EVENT_REJECTED", other.communicate(timeout=500)[0])
        self.assertIn("Software caused connection abort", server.communicate(timeout=500)[0])

    def test_killed_client_ends_the_stream(self):
        words = ("rstream", "-T", "blocking", "-I", "1000000000", "-C", "1", "-S", "1000")
        server = self.start_server(*words)
        client = self.start("host2", *words, "-s", SERVER)
        while self.sent_bytes(3) < 1_000_000: # of connecting: some thousands
            self.assertIsNone(client.poll(), "the client ended")
        client.kill()
        self.assertIn("Connection reset by peer", server.communicate(timeout=500)[0])


if __name__ == "__main__":
    unittest.main()
