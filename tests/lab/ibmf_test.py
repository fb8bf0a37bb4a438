#!/usr/bin/env python3
"""IBMF against OpenSM: each test of ibmf_lab on hosts of a lab of its own."""
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
        client = subprocess.Popen([PROGRAM, f"--gtest_filter=IbmfLab.{test}"],
                                  env=dict(self.lab.environment(host), **environment), text=True,
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
        """Reads on to a line that begins with this word, and gives it back."""
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

    def opensm(self, deed):
        os.kill(self.lab.opensm("H0001").pid(), deed)


class IbmfTest(IbmfCase):
    hosts = 40

    def test_each_attribute(self):
        self.passes(self.start("EachAttributeIsGot"))

    def test_many_at_once(self):
        self.passes(self.start("NothingIsLostAndNothingAnsweredTwice"))

    def test_loss(self):
        self.set_faults({"LAB_DROP": 10, "LAB_SEED": 5})
        self.passes(self.start("NothingIsLostAndNothingAnsweredTwice"))

    def test_loss_on_the_link(self):
        self.lab.console(f'Error "{HOST}"[1] 10')
        self.passes(self.start("NothingIsLostAndNothingAnsweredTwice"))

    def test_duplicates(self):
        self.set_faults({"LAB_DUPLICATE": 30})
        self.passes(self.start("NothingIsLostAndNothingAnsweredTwice"))

    def test_tables_out_of_order_twice_and_late(self):
        self.set_faults({"LAB_REORDER": 10, "LAB_DUPLICATE": 10, "LAB_DELAY": 1})
        self.passes(self.start("ATableComesThrough"))

    def test_opensm_stops_and_goes_on(self):
        self.opensm(signal.SIGSTOP)
        client = self.start("NothingIsLostAndNothingAnsweredTwice")
        self.says(client, "asked")
        self.opensm(signal.SIGCONT)
        self.passes(client)

    def test_opensm_is_killed_and_comes_again(self):
        self.opensm(signal.SIGKILL)
        client = self.start("NothingIsLostAndNothingAnsweredTwice")
        self.says(client, "asked")
        self.lab.opensm("H0001").stop()
        self.lab.start_opensm("H0001")
        self.passes(client)

    def test_opensm_is_silent(self):
        self.opensm(signal.SIGSTOP)
        self.passes(self.start("ASilentSaIsGivenUpInTime"))

    def test_the_link_goes(self):
        client = self.start("ATransferEndsWhenItsLinkDoes")
        self.says(client, "pull")
        self.lab.console(f'Unlink "{HOST}"[1]')
        self.passes(client)

    def test_an_agent_answers_another_host(self):
        agent = self.start("AnAgentServes", "H0003")
        lid = self.says(agent, "serves at").split()[-1]
        self.passes(self.start("AnAgentIsAsked", IBMF_LAB_AGENT=lid))
        agent.stdin.write("enough\n")
        agent.stdin.flush()
        self.passes(agent)


class LargeTest(IbmfCase):
    hosts = 1920

    def test_each_table(self):
        self.passes(self.start("EachTableIsGot"))


class StandbyTest(IbmfCase):
    hosts = 8
    sm_hosts = ("H0001", "H0003")
    opensm_options = ("sminfo_polling_timeout 200", "polling_retry_number 2")

    def test_the_standby_takes_over(self):
        client = self.start("TheStandbyAnswersOnceItIsMaster")
        self.says(client, "replace")
        self.opensm(signal.SIGKILL)
        self.passes(client)


if __name__ == "__main__":
    unittest.main()
