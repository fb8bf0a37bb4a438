#!/usr/bin/env python3
"""SA access against OpenSM: runs each test of saa_lab on a host of a new lab; and the same tests
against our subnet manager."""
import os
import pathlib
import signal
import subprocess
import tempfile
import unittest

from fabric import fabric
from lab_case import LabCase

HOST = "H0002"
PROGRAM = os.environ["IRPVERBS_SAA_LAB"]


class SaaTest(LabCase):
    hosts = 20

    def passes(self, test, **faults):
        self.set_faults(faults)
        result = self.lab.run(HOST, [PROGRAM, f"--gtest_filter=SaaLab.{test}"], seconds=120)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("[  PASSED  ] 1 test.", result.stdout)
        return result.stdout

    def test_records_are_received(self):
        self.assertIn(f"nodes {self.hosts + 1}", self.passes("RetrieveManyTypes_ReturnsRecords"))

    def test_paths_are_received(self):
        self.assertIn(f"paths {self.hosts + 1}", self.passes("PathsFromOwnPort_ReachEachPortOnce"))

    def test_paths_to_several_are_received(self):
        self.passes("MultiPathToSeveralPorts_ReturnsOnePathEach")

    def test_group_is_joined_and_left(self):
        self.passes("BroadcastGroupOfTheDefaultPartition_HasAPath")

    def test_services_are_registered(self):
        self.passes("ServiceRegisteredAndDeleted_FoundOnlyInBetween")

    def test_storm_completes(self):
        self.passes("TenThousandConcurrentQueries_NoneFailsOrRepeats")

    def test_loss_queries_complete(self):
        self.passes("RetrieveManyTypes_ReturnsRecords", LAB_DROP=5)

    def test_opensm_stopped_queries_complete(self):
        os.kill(self.lab.opensm("H0001").pid(), signal.SIGSTOP)
        self.passes("SaStopped_QueriesEndAtDeadlineOrSessionClose")


class TakeOverTest(LabCase):
    hosts = 20
    sm_hosts = ("H0001", "H0003")
    opensm_options = ("sminfo_polling_timeout 500", "polling_retry_number 2")

    def hears_of_all(self, end_first_sm, storm=200):
        program = self.lab.start(HOST, [PROGRAM, "--gtest_filter=*EventsUnderLoad*"],
                                 {"IRPVERBS_SAA_LAB_STORM": str(storm)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.addCleanup(program.wait)
        self.addCleanup(program.kill)
        self.addCleanup(program.stdout.close)
        seen = []

        def wait_for(word):
            while not seen or not seen[-1].startswith(word):
                line = program.stdout.readline()
                self.assertNotEqual(line, "", "".join(seen))
                seen.append(line)

        wait_for("subscribed")
        self.lab.console('Unlink "H0007"[1]')
        wait_for("gone")
        end_first_sm()
        wait_for("lost")
        self.lab.console('Unlink "H0009"[1]')
        wait_for("gone")
        wait_for("asked")
        self.assertEqual(program.wait(60), 0, "".join(seen) + program.stdout.read())

    def signal(self, number):
        os.kill(self.lab.opensm("H0001").pid(), number)

    def test_master_killed_events_continue(self):
        self.hears_of_all(lambda: self.signal(signal.SIGKILL))

    def test_master_stopped_events_continue(self):
        # ibsim blocks when a stopped client's socket is full, so few requests may reach it.
        self.hears_of_all(lambda: self.signal(signal.SIGSTOP), storm=1)

    def test_master_ended_events_continue(self):
        self.hears_of_all(lambda: self.signal(signal.SIGTERM))


class OurManagerTest(unittest.TestCase):
    def test_own_manager_passes_the_same_tests(self):
        with tempfile.TemporaryDirectory(prefix="saa") as scratch:
            topology = pathlib.Path(scratch) / "fabric.net"
            topology.write_text(fabric(SaaTest.hosts))
            # Tests that stop or end the SA are left out, since our manager is in the same process.
            result = subprocess.run([PROGRAM, "--gtest_filter=-*SaStopped*:*EventsUnderLoad*"], timeout=300, text=True,
                                    env=dict(os.environ,
                                             IRPVERBS_SAA_LAB_HCA=f"software:{topology}"),
                                    capture_output=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("[  PASSED  ] 6 tests.", result.stdout)
        self.assertIn(f"nodes {SaaTest.hosts + 1}", result.stdout)


if __name__ == "__main__":
    unittest.main()
