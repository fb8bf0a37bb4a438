#!/usr/bin/env python3
"""The rdma driver against OpenSM: runs each test of rdma_lab on a host of a new lab."""
import os
import signal
import subprocess
import unittest

from lab_case import LabCase

HOST = "H0002"
PROGRAM = os.environ["IRPVERBS_RDMA_LAB"]


class RdmaTest(LabCase):
    hosts = 3

    def command(self, test):
        return [PROGRAM, f"--gtest_filter=RdmaLab.{test}"]

    def passes(self, test, **faults):
        self.set_faults(faults)
        answer = self.lab.run(HOST, self.command(test), seconds=60)
        self.assertEqual(answer.returncode, 0, answer.stdout + answer.stderr)
        self.assertIn("[  PASSED  ] 1 test.", answer.stdout)
        return answer.stdout

    def test_attributes(self):
        self.passes("QueryPort_ReturnsHostAttributes")

    def test_an_irp_receives_the_answer(self):
        self.passes("GetMadIrp_ReceivesSaResponse")

    def test_a_callback_receives_the_answer(self):
        self.passes("UpCallAgent_ReceivesSaResponse")

    def test_many_questions_of_two_agents(self):
        self.passes("SharedTransactionIds_EachResponseReachesItsAgent")

    def test_loss(self):
        self.passes("LostRequestRepeated_ResponseIsReceived", LAB_DROP=30)

    def test_opensm_stopped(self):
        os.kill(self.lab.opensm("H0001").pid(), signal.SIGSTOP)
        self.passes("SaSilent_ReceivePendsUntilCancelled")

    def test_a_whole_table(self):
        self.assertIn(f"nodes {self.hosts + 1}", self.passes("GetTableWithDriverRmpp_ReceivedWhole"))

    def test_single_segments(self):
        self.passes("GetTableWithClientRmpp_SegmentsReceivedSingly")

    def test_a_method_has_one_receiver(self):
        self.passes("MethodAlreadyRegistered_ReturnsSharingViolation")

    def test_port_events(self):
        with self.lab.start(HOST, self.command("CablePulledAndReplugged_EventsAreReported"),
                            stdout=subprocess.PIPE) as client:
            self.addCleanup(client.kill)
            said = ""
            for line in client.stdout:
                said += line
                if line.strip() in ("pull", "put"):
                    deed = "Unlink" if line.strip() == "pull" else "ReLink"
                    self.lab.console(f'{deed} "{HOST}"[1]')
            self.assertEqual(client.wait(), 0, said)


if __name__ == "__main__":
    unittest.main()
