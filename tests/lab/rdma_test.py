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
        result = self.lab.run(HOST, self.command(test), seconds=60)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("[  PASSED  ] 1 test.", result.stdout)
        return result.stdout

    def test_attributes_are_reported(self):
        self.passes("QueryPort_ReturnsHostAttributes")

    def test_request_by_irp_receives_response(self):
        self.passes("GetMadIrp_ReceivesSaResponse")

    def test_request_by_callback_receives_response(self):
        self.passes("UpCallAgent_ReceivesSaResponse")

    def test_many_requests_of_two_agents_complete(self):
        self.passes("SharedTransactionIds_EachResponseReachesItsAgent")

    def test_loss_requests_complete(self):
        self.passes("LostRequestRepeated_ResponseIsReceived", LAB_DROP=30)

    def test_opensm_stopped_receives_stay_pending(self):
        os.kill(self.lab.opensm("H0001").pid(), signal.SIGSTOP)
        self.passes("SaSilent_ReceivePendsUntilCancelled")

    def test_whole_table_is_received(self):
        self.assertIn(f"nodes {self.hosts + 1}", self.passes("GetTableWithDriverRmpp_ReceivedWhole"))

    def test_single_segments_are_received(self):
        self.passes("GetTableWithClientRmpp_SegmentsReceivedSingly")

    def test_method_has_one_receiver(self):
        self.passes("MethodAlreadyRegistered_ReturnsSharingViolation")

    def test_port_events_are_reported(self):
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
