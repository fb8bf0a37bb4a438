#!/usr/bin/env python3
"""IBMF against OpenSM: runs each test of ibmf_lab on hosts of a new lab."""
import os
import signal
import subprocess
import threading
import unittest

from lab_case import LabCase

HOST = "H0002"
PROGRAM = os.environ["IRPVERBS_IBMF_LAB"]


class IbmfCase(LabCase):
    def start(self, test, host=HOST, **environment):
        client = self.lab.start(host, [PROGRAM, f"--gtest_filter=*.{test}"], environment,
                                stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT)
        self.addCleanup(client.stdout.close)
        self.addCleanup(client.stdin.close)
        self.addCleanup(client.wait)
        self.addCleanup(client.kill)
        limit = threading.Timer(120, client.kill)
        limit.start()
        self.addCleanup(limit.cancel)
        return client

    def says(self, client, word):
        """Reads up to a line that begins with `word`, and returns it."""
        said = ""
        for line in client.stdout:
            said += line
            if line.startswith(word):
                return line
        return self.fail(f"ended before it said '{word}':\n{said}")

    def passes(self, client):
        said = client.stdout.read()
        self.assertEqual(client.wait(), 0, said)
        self.assertIn("[  PASSED  ] 1 test.", said)
        return said

    def tell(self, client):
        client.stdin.write("done\n")
        client.stdin.flush()

    def opensm(self, deed):
        os.kill(self.lab.opensm("H0001").pid(), deed)

    def opened(self, test, deed):
        """Starts a test, and sends OpenSM the signal `deed` while the test's requests are outstanding."""
        client = self.start(test)
        self.says(client, "open")
        self.opensm(deed)
        self.tell(client)
        return client


class IbmfTest(IbmfCase):
    hosts = 40

    def test_many_requests_at_once_complete(self):
        self.passes(self.start("ConcurrentRequests_EachReceivesOneResponse"))

    def test_loss_requests_complete(self):
        self.set_faults({"LAB_DROP": 10, "LAB_SEED": 5})
        self.passes(self.start("ConcurrentRequests_EachReceivesOneResponse"))

    def test_loss_on_the_link_requests_complete(self):
        self.lab.console(f'Error "{HOST}"[1] 10')
        self.passes(self.start("ConcurrentRequests_EachReceivesOneResponse"))

    def test_duplicates_requests_complete(self):
        self.set_faults({"LAB_DUPLICATE": 30})
        self.passes(self.start("ConcurrentRequests_EachReceivesOneResponse"))

    def test_segments_out_of_order_twice_and_late_tables_are_whole(self):
        self.set_faults({"LAB_REORDER": 10, "LAB_DUPLICATE": 10, "LAB_DELAY": 1})
        self.passes(self.start("GetTable_MatchesRawResponse"))

    def test_opensm_stopped_and_continued_requests_complete(self):
        client = self.opened("SaStoppedAndContinued_AllRequestsComplete", signal.SIGSTOP)
        self.says(client, "goes on")
        self.opensm(signal.SIGCONT)
        self.passes(client)

    def test_opensm_silent_requests_time_out(self):
        client = self.opened("SaStopped_RequestsTimeOutInTime", signal.SIGSTOP)
        self.says(client, "given up")
        self.opensm(signal.SIGCONT)
        self.tell(client)
        self.passes(client)

    def test_opensm_killed_and_restarted_requests_complete(self):
        client = self.opened("SaRestarted_GetsSucceedAndTableTimesOut", signal.SIGKILL)
        self.says(client, "comes again")
        self.lab.opensm("H0001").stop()
        self.lab.start_opensm("H0001")
        self.passes(client)

    def test_link_lost_requests_fail(self):
        client = self.start("LinkDownDuringTransfer_CompletesWithTimeout")
        self.says(client, "pull")
        self.lab.console(f'Unlink "{HOST}"[1]')
        self.tell(client)
        self.passes(client)

    def test_agent_receives_request_and_responds(self):
        agent = self.start("AgentWithLargeTable_ServesRemoteHost", "H0003")
        lid = self.says(agent, "serves at").split()[-1]
        self.passes(self.start("GetTableFromRemoteAgent_ReceivedWhole", IBMF_LAB_AGENT=lid))
        self.tell(agent)
        self.passes(agent)


class SaqueryTest(IbmfCase):
    hosts = 60
    nodes = 78  # two leaves, sixteen spines
    cables = 60 + 2 * 16

    def test_tables_equal_saquerys(self):
        for record, attribute, count in (("NodeRecord", 0x11, self.nodes),
                                         ("LinkRecord", 0x20, 2 * self.cables)):
            received = self.lab.folder / f"{record}.received"
            saquery = self.lab.start(HOST, ["saquery", record], {"LAB_RECEIVED": str(received)},
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            said = saquery.communicate(timeout=300)[0]
            self.assertEqual(saquery.returncode, 0, said)
            self.assertEqual(said.count("Record dump:"), count)
            said = self.passes(self.start("GetTable_MatchesSaqueryResponse",
                                          IBMF_LAB_RECEIVED=str(received)))
            self.assertIn(f"records {attribute} {count}\n", said)


class LossTest(IbmfCase):
    hosts = 300
    nodes = 326  # ten leaves, sixteen spines

    def setUp(self):
        self.set_faults({"LAB_RESEND": 20})  # for OpenSM, too
        super().setUp()

    def table_comes_through(self, lose):
        client = self.start("GetTableUnderLoss_ReceivedWhole")
        self.assertEqual(self.says(client, "nodes").split()[1], str(self.nodes))
        lose()
        self.tell(client)
        self.passes(client)

    def test_loss_on_the_wire_transfers_complete(self):
        self.set_faults({"LAB_DROP": 5, "LAB_SEED": 3})
        self.table_comes_through(lambda: None)

    def test_loss_on_the_link_transfers_complete(self):
        self.table_comes_through(lambda: self.lab.console(f'Error "{HOST}"[1] 5'))


class LargeTest(IbmfCase):
    hosts = 1920

    def test_each_attribute_is_received(self):
        self.passes(self.start("EachAttribute_MatchesLibibumadResponse"))

    def test_request_of_many_segments_completes(self):
        self.passes(self.start("GetMultiWithManyGids_MatchesRawResponse"))


class StandbyTest(IbmfCase):
    hosts = 40
    sm_hosts = ("H0001", "H0003")
    opensm_options = ("sminfo_polling_timeout 200", "polling_retry_number 2")

    def test_master_killed_standby_takes_over(self):
        self.passes(self.opened("MasterKilled_StandbyRespondsOnceMaster", signal.SIGKILL))


if __name__ == "__main__":
    unittest.main()
