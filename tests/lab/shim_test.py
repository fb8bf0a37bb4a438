#!/usr/bin/env python3
"""The shim does the kernel's work for libibumad: RMPP with whole tables, and time-outs, also over a link
that drops, duplicates and reorders datagrams."""
import os
import re
import signal
import time
import unittest

from lab_case import LabCase

HOSTS = 40
SWITCHES = 18  # two leaves, sixteen spines
PATHS = (HOSTS + SWITCHES) ** 2


class ShimTest(LabCase):
    hosts = HOSTS

    def query(self, *words, **faults):
        self.set_faults(faults)
        return self.lab.run("H0002", ["saquery", *words], seconds=60)

    def assert_all_paths(self, answer):
        self.assertEqual(answer.returncode, 0, answer.stderr)
        self.assertEqual(len(re.findall("PathRecord dump", answer.stdout)), PATHS)

    def test_a_table_of_many_segments_is_whole(self):
        self.assert_all_paths(self.query("-p", "-t", "20000"))

    def test_node_records_come_one_a_segment(self):
        nodes = self.query("NR")
        self.assertEqual(len(re.findall("NodeRecord dump", nodes.stdout)), HOSTS + SWITCHES)

    def test_segments_out_of_order(self):
        self.assert_all_paths(self.query("-p", "-t", "20000", LAB_REORDER=20))

    def test_segments_twice(self):
        self.assert_all_paths(self.query("-p", "-t", "20000", LAB_DUPLICATE=20))

    def test_segments_late(self):
        self.assert_all_paths(self.query("-p", "-t", "20000", LAB_DELAY=2))

    def test_a_lost_segment_is_sent_again(self):
        nodes = self.query("NR", "-t", "20000", LAB_DROP=3, LAB_SEED=7)
        self.assertEqual(nodes.returncode, 0, nodes.stderr)
        self.assertEqual(len(re.findall("NodeRecord dump", nodes.stdout)), HOSTS + SWITCHES)

    def test_a_silent_server_ends_in_a_time_out(self):
        os.kill(self.lab.opensm("H0001").pid(), signal.SIGSTOP)
        began = time.monotonic()
        answer = self.query("-p", "-t", "300")
        self.assertNotEqual(answer.returncode, 0)
        self.assertIn("timed out", answer.stderr)
        self.assertGreaterEqual(time.monotonic() - began, 0.3)


if __name__ == "__main__":
    unittest.main()
