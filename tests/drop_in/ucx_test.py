#!/usr/bin/env python3
"""UCX and qperf, unmodified: two processes on the fabric of one daemon."""
import re
import unittest

from drop_in import LIBRARIES
from two_processes import TwoProcesses, free_port, listens


class Qperf(TwoProcesses):
    def test_latency_and_bandwidth(self):
        port = free_port()
        server = self.start("host1", "qperf", "-lp", str(port))
        while not listens(port):
            self.assertIsNone(server.poll(), "the server ended")
        for test in ("rc_lat", "rc_bw", "rc_bi_bw", "uc_lat", "uc_bw", "ud_lat", "ud_bw", "rc_rdma_read_lat", "rc_rdma_write_bw",
                     "rc_rdma_write_poll_lat", "uc_rdma_write_lat", "rc_compare_swap_mr", "rc_fetch_add_mr", "ver_rc_compare_swap",
                     "ver_rc_fetch_add"):
            out = self.output(self.start("host2", "qperf", "-lp", str(port), "-t", "1", "127.0.0.1", test))
            self.assertRegex(out, rf"(?m)^{test}:\n +(latency|bw|send_bw|msg_rate) +=", out)


class Ucx(TwoProcesses):
    def test_device_and_its_transports_are_found(self):
        out = self.output(self.start("host1", "ucx_info", "-d", LD_PRELOAD=str(LIBRARIES / "libirpverbs-device-files.so")))
        for transport in ("rc_verbs", "ud_verbs"):
            self.assertRegex(out, rf"Transport: {transport}\n# +Device: irpverbs0:1\n")
    def play_ucx(self, transport, test):
        out, _ = self.play("ucx_perftest", "-t", test, "-n", "100", "-w", "5",
                           LD_PRELOAD=str(LIBRARIES / "libirpverbs-device-files.so"),
                           UCX_TLS=f"{transport},self", UCX_NET_DEVICES="irpverbs0:1")
        self.assertRegex(out, r"(?m)^Final: +100 ")
        self.assertIsNone(re.search(r"ERROR|WARN|Assert", out), out)

    def test_reliable_connections(self):
        for test in ("tag_lat", "tag_bw", "ucp_am_lat", "ucp_put_bw", "ucp_get", "ucp_fadd"):
            self.play_ucx("rc_v", test)

    def test_io_demo_connects_by_address(self):
        """UCX's own connection management asks librdmacm."""
        more = {"LD_PRELOAD": str(LIBRARIES / "libirpverbs-device-files.so"), "UCX_TLS": "rc_v,ud_v,self"}
        port = str(free_port())
        server = self.start("host1", "io_demo", "-p", port, **more)
        for line in server.stdout:
            if "started listener" in line: break
        out = self.output(self.start("host2", "io_demo", "-p", port, "-i", "1000", "198.18.0.1", **more))
        self.assertEqual(sum(map(int, re.findall(r"total:(\d+) \| read", out))), 1000) # of each second
        self.assertIn("Client exit with status 'OK'", out)

    def test_datagrams(self):
        for test in ("tag_lat", "tag_bw"):
            self.play_ucx("ud_v", test)


if __name__ == "__main__":
    unittest.main()
