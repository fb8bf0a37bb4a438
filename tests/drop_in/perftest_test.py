#!/usr/bin/env python3
"""perftest, unmodified: two processes on the fabric of one daemon."""
import re
import unittest

from two_processes import TwoProcesses, free_port, listens


class Perftest(TwoProcesses):
    def measure(self, program, *options, iterations=100):
        """The program prints a row that begins with the size and the iterations."""
        out, _ = self.play(program, "-n", str(iterations), *options)
        self.assertRegex(out, r"(?m)^ *\d+ +\d+ +[\d.]+ +[\d.]+", program)
        self.assertNotRegex(out, "(?i)fail|couldn't|error|mismatch")

    def test_latency_of_each_operation_and_transport(self):
        for program in ("ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat"):
            self.measure(program)
        for transport in ("UC", "UD"):
            self.measure("ib_send_lat", "-c", transport)
        self.measure("ib_write_lat", "-c", "UC")
        for program in ("ib_send_lat", "ib_write_lat", "ib_read_lat", "ib_atomic_lat"):
            self.measure(program, "-c", "XRC")

    def test_bandwidth_of_each_operation_and_transport(self):
        for program in ("ib_send_bw", "ib_write_bw", "ib_read_bw", "ib_atomic_bw"):
            self.measure(program)
            self.measure(program, "-b")
        for transport in ("UC", "UD"):
            self.measure("ib_send_bw", "-c", transport)
        self.measure("ib_write_bw", "-c", "UC")
        self.measure("ib_send_bw", "-c", "UD", "-g") # to a multicast group
        self.measure("ib_send_bw", "-c", "XRC", "-q", "4")

    def test_both_types_of_atomics(self):
        for operation in ("CMP_AND_SWAP", "FETCH_AND_ADD"):
            self.measure("ib_atomic_lat", "-A", operation)

    def test_sizes(self):
        for size in ("1", "4097", "1048576"):
            self.measure("ib_write_bw", "-s", size, iterations=20)
            self.measure("ib_send_lat", "-s", size, iterations=20)

    def test_events_queue_pairs_shared_receives(self):
        self.measure("ib_send_lat", "-e")
        self.measure("ib_write_bw", "-q", "4")
        self.measure("ib_send_bw", "--use-srq", "-r", "64")


class Loss(TwoProcesses):
    """Each packet crosses two cables and one switch."""
    fabric = "software:?loss=0.01"

    def damaged(self):
        """The packets of all cables of switch 1 that were lost."""
        return sum(self.counter(lid, port, "PortRcvErrors") for lid, port in ((6, 255), (1, 1), (3, 1)))

    def test_lost_packets_are_sent_again(self):
        before = self.damaged()
        for words in (("ib_send_bw",), ("ib_write_lat",), ("ib_read_bw",), ("ib_atomic_bw",), ("ib_atomic_lat", "-A", "CMP_AND_SWAP")):
            with self.subTest(words):
                out, _ = self.play(*words, "-n", "100")
                self.assertRegex(out, r"(?m)^ *\d+ +100 +[\d.]+ +[\d.]+")
                self.assertNotRegex(out, "(?i)fail|couldn't|error|mismatch")
                before, lost = self.damaged(), before
                self.assertGreater(before, lost)

    def test_sender_does_not_notice_what_an_unreliable_connection_loses(self):
        before = self.damaged()
        out, _ = self.play("ib_write_bw", "-c", "UC", "-n", "500")
        self.assertRegex(out, r"(?m)^ *\d+ +500 +[\d.]+ +[\d.]+")
        self.assertGreater(self.damaged(), before)

    def test_lost_datagrams_are_missing_at_the_receiver(self):
        port = free_port()
        server = self.start("host1", "qperf", "-lp", str(port))
        while not listens(port):
            self.assertIsNone(server.poll(), "the server ended")
        out = self.output(self.start("host2", "qperf", "-lp", str(port), "-t", "1", "-vvs", "127.0.0.1", "ud_bw"))
        sent, received = (int(re.search(rf"(?m)^ +{end}_msgs += +([\d,]+)", out)[1].replace(",", "")) for end in ("send", "recv"))
        self.assertGreater(sent, received)
        self.assertGreater(received, sent / 2)  # the rest may find no receive on a busy processor

    def test_received_bytes_are_right(self):
        for out in self.play("ibv_rc_pingpong", "-n", "100", "-s", "20000", "-c"):
            self.assertIn("100 iters in", out)
            self.assertNotIn("invalid data", out)


class Faults(TwoProcesses):
    """Events during a running measurement."""

    def start_both(self, *options):
        """A server, and a client that writes to it for three seconds. Returns when it writes."""
        port = str(free_port())
        words = ("ib_write_bw", "-p", port, "-D", "3", *options)
        server = self.start("host1", *words)
        while not listens(int(port)):
            self.assertIsNone(server.poll(), "the server ended")
        before = self.counter(3, 1, "PortXmitPkts")
        client = self.start("host2", *words, "127.0.0.1")
        while self.counter(3, 1, "PortXmitPkts") < before + 1000:
            self.assertIsNone(client.poll(), "the client ended")
        return server, client

    def test_links_that_flap_are_retried(self):
        # A second until a packet is repeated: longer than the link is down on a loaded machine.
        server, client = self.start_both("--qp-timeout=18")
        before = self.counter(6, 2, "LinkDownedCounter")
        while client.poll() is None:
            for operation in ("disable", "enable"):
                self.output(self.start("host3", "ibportstate", "6", "2", operation)) # the switch's port to host2
        for each in (client, server):
            self.assertNotRegex(self.output(each), "(?i)fail|couldn't|error")
        self.assertGreater(self.counter(6, 2, "LinkDownedCounter") - before, 2)

    def wait_until_nothing_is_left(self):
        while not self.daemon.status().startswith("0 open HCAs, 0 objects, 0 requests, 0 waits\n"):
            pass # the daemon destroys the objects of a process that was killed
        self.assertIn("MB/sec", self.play("ib_write_bw", "-n", "100")[0])

    def test_killed_client_leaves_nothing(self):
        server, client = self.start_both()
        client.kill()
        out = server.communicate(timeout=300)[0]
        self.assertEqual(server.returncode, 1, out)
        self.assertIn("Couldn't read remote address", out) # by TCP, as on any fabric
        client.communicate()
        self.wait_until_nothing_is_left()

    def test_writes_to_a_killed_server_fail(self):
        server, client = self.start_both()
        server.kill()
        out = client.communicate(timeout=300)[0]
        self.assertEqual(client.returncode, 1, out)
        # IBV_WC_RETRY_EXC_ERR, or IBV_WC_REM_ACCESS_ERR before the daemon has seen the end
        self.assertRegex(out, r"Completion with error at client\n Failed status (12|10):")
        server.communicate()
        self.wait_until_nothing_is_left()


if __name__ == "__main__":
    unittest.main()
