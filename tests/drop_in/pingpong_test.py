#!/usr/bin/env python3
"""rdma-core's pingpong programs, unmodified: two processes on the fabric of one daemon."""
import unittest

from two_processes import TwoProcesses


class PingPong(TwoProcesses):
    def ping(self, *words):
        for out in self.play(*words):
            self.assertIn("iters in", out)

    def test_reliable_connection(self):
        self.ping("ibv_rc_pingpong", "-n", "100", "-c")

    def test_sizes(self):
        for size in ("1", "100000"):
            self.ping("ibv_rc_pingpong", "-n", "10", "-c", "-s", size)

    def test_events(self):
        self.ping("ibv_rc_pingpong", "-n", "50", "-e")

    def test_many_iterations(self):
        self.ping("ibv_rc_pingpong", "-n", "100000")

    def test_unreliable_connection(self):
        self.ping("ibv_uc_pingpong", "-n", "50", "-c")
        self.ping("ibv_uc_pingpong", "-n", "50", "-e")

    def test_datagrams(self):
        self.ping("ibv_ud_pingpong", "-n", "50", "-c")
        self.ping("ibv_ud_pingpong", "-n", "50", "-e")

    def test_shared_receive_queue(self):
        self.ping("ibv_srq_pingpong", "-n", "200", "-q", "4", "-c")
        self.ping("ibv_srq_pingpong", "-n", "200", "-q", "4", "-e")

    def test_shared_receive_queue_of_an_xrc_domain(self):
        for out in self.play("ibv_xsrq_pingpong", "-n", "200"):
            self.assertIn("success", out)


if __name__ == "__main__":
    unittest.main()
