#!/usr/bin/env python3
"""Two processes of rdma-core's examples, unmodified, on the fabric of one daemon."""
import shutil
import socket
import subprocess
import unittest

from drop_in import Daemon, environment


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def output(process):
    text, _ = process.communicate(timeout=60)
    return process.returncode, text


class PingPong(unittest.TestCase):
    def setUp(self):
        self.daemon = Daemon(self)

    def start(self, host, *words):
        return subprocess.Popen(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, env=environment(self.daemon.host(host)))

    def play(self, program, *options):
        """The client tries to connect until the server listens."""
        if shutil.which(program) is None:
            self.skipTest(f"{program} is not installed (ibverbs-utils)")
        words = (program, "-p", str(free_port()), *options)
        server = self.start("host1", *words)
        self.addCleanup(server.kill)
        while True:
            client = output(self.start("host2", *words, "127.0.0.1"))
            refused = "Couldn't connect" in client[1] and server.poll() is None
            if not refused:
                break
        served = output(server)
        for status, text in (client, served):
            self.assertEqual(status, 0, text)
            self.assertIn("iters in", text)

    def test_reliable_connection(self):
        self.play("ibv_rc_pingpong", "-n", "100", "-c")

    def test_sizes(self):
        for size in ("1", "100000"):
            self.play("ibv_rc_pingpong", "-n", "10", "-c", "-s", size)

    def test_events(self):
        self.play("ibv_rc_pingpong", "-n", "50", "-e")

    def test_unreliable_connection(self):
        self.play("ibv_uc_pingpong", "-n", "50")

    def test_datagrams(self):
        self.play("ibv_ud_pingpong", "-n", "50", "-e")

    def test_shared_receive_queue(self):
        self.play("ibv_srq_pingpong", "-n", "200", "-q", "4")


if __name__ == "__main__":
    unittest.main()
