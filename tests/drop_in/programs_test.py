#!/usr/bin/env python3
"""Programs of rdma-core beside what happens around them: a link that goes down, memcheck, forks."""
import sys
import unittest
from pathlib import Path

from two_processes import TwoProcesses, free_port, listens

sys.path.append(str(Path(__file__).resolve().parent.parent / "verbs"))
import rdma_core

# Messages between two queue pairs. During some of them the program has a child.
FORKS = """
import os
from pyverbs.addr import AHAttr
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.enums import IBV_ACCESS_LOCAL_WRITE, IBV_MTU_1024, IBV_QPT_RC, IBV_WC_SUCCESS
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR, SendWR

context = Context(name="irpverbs0")
domain = PD(context)
queue = CQ(context, 10)
memory = MR(domain, 16384, IBV_ACCESS_LOCAL_WRITE)
ends = [QP(domain, QPInitAttr(qp_type=IBV_QPT_RC, scq=queue, rcq=queue, cap=QPCap(4, 4, 1, 1), sq_sig_all=1)) for _ in range(2)]
for own, peer in (ends, ends[::-1]):
    attributes = QPAttr(port_num=1)
    attributes.dest_qp_num = peer.qp_num
    attributes.path_mtu = IBV_MTU_1024
    attributes.ah_attr = AHAttr(dlid=context.query_port(1).lid, port_num=1)
    attributes.timeout, attributes.retry_cnt, attributes.rnr_retry = 14, 7, 7
    own.to_rts(attributes)

def in_child():
    try:
        context.query_port(1)
    except Exception as error:
        os._exit(0 if error.error_code == 5 else 1) # EIO
    os._exit(2)

for number in range(300):
    memory.write(b"%08d" % number * 512, 4096)
    ends[1].post_recv(RecvWR(num_sge=1, sg=[SGE(memory.buf + 8192, 4096, memory.lkey)]))
    ends[0].post_send(SendWR(num_sge=1, sg=[SGE(memory.buf, 4096, memory.lkey)]))
    child = os.fork() if number % 30 == 0 else None
    if child == 0: in_child()
    done = []
    while len(done) < 2: done += queue.poll(2)[1]
    assert all(each.status == IBV_WC_SUCCESS for each in done)
    assert memory.read(4096, 8192) == b"%08d" % number * 512
    if child is not None: assert os.waitpid(child, 0)[1] == 0
print("300 messages")
"""


class Programs(TwoProcesses):
    def test_asyncwatch_sees_a_link_go_down_and_come_back(self):
        watch = self.start("host1", "stdbuf", "-oL", "ibv_asyncwatch")
        self.assertIn("irpverbs0: async event FD", watch.stdout.readline())
        for operation, event in (("disable", "IBV_EVENT_PORT_ERR (10)"), ("enable", "IBV_EVENT_PORT_ACTIVE (9)")):
            self.output(self.start("host3", "ibportstate", "6", "1", operation)) # the switch's port to host1
            for line in watch.stdout:
                if f"event_type {event}, port 1" in line:
                    break
            else:
                self.fail(f"asyncwatch ended before {event}")

    def test_memcheck_finds_nothing_in_whole_programs(self):
        for words in (("ibstat",), ("ibv_devinfo", "-v")):
            out = self.output(self.start("host1", "valgrind", "--error-exitcode=9", *words))
            self.assertIn("ERROR SUMMARY: 0 errors", out)
        words = ("valgrind", "--error-exitcode=9", "ibv_rc_pingpong", "-n", "20", "-c", "-p", str(free_port()))
        server = self.start("host1", *words)
        while not listens(int(words[-1])):
            self.assertIsNone(server.poll(), "the server ended")
        client = self.start("host2", *words, "127.0.0.1")
        for each in (client, server):
            self.assertIn("ERROR SUMMARY: 0 errors", self.output(each))

    @unittest.skipUnless(rdma_core.SOURCE.is_dir(), "python3-pyverbs is not installed")
    def test_forks_during_transfers_change_nothing(self):
        self.assertEqual(self.output(self.start("host1", rdma_core.PYTHON, "-c", FORKS)), "300 messages\n")


if __name__ == "__main__":
    unittest.main()
