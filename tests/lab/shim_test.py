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

    def assert_all_paths(self, result):
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(re.findall("PathRecord dump", result.stdout)), PATHS)

    def test_table_of_many_segments_is_whole(self):
        self.assert_all_paths(self.query("-p", "-t", "20000"))

    def test_node_records_arrive_one_a_segment(self):
        nodes = self.query("NR")
        self.assertEqual(len(re.findall("NodeRecord dump", nodes.stdout)), HOSTS + SWITCHES)

    def test_segments_out_of_order_table_is_whole(self):
        self.assert_all_paths(self.query("-p", "-t", "20000", LAB_REORDER=20))

    def test_segments_twice_table_is_whole(self):
        self.assert_all_paths(self.query("-p", "-t", "20000", LAB_DUPLICATE=20))

    def test_segments_late_table_is_whole(self):
        self.assert_all_paths(self.query("-p", "-t", "20000", LAB_DELAY=2))

    def test_lost_segment_is_sent_again(self):
        nodes = self.query("NR", "-t", "20000", LAB_DROP=3, LAB_SEED=7)
        self.assertEqual(nodes.returncode, 0, nodes.stderr)
        self.assertEqual(len(re.findall("NodeRecord dump", nodes.stdout)), HOSTS + SWITCHES)

    def test_silent_server_times_out(self):
        os.kill(self.lab.opensm("H0001").pid(), signal.SIGSTOP)
        began = time.monotonic()
        result = self.query("-p", "-t", "300")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("timed out", result.stderr)
        self.assertGreaterEqual(time.monotonic() - began, 0.3)


if __name__ == "__main__":
    unittest.main()
