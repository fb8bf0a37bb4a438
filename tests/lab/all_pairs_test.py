#!/usr/bin/env python3
"""irpctl prints the same paths as OpenSM's own client, as they arrive and in little memory; and the
program that measures it runs. No times are checked."""
import json
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import unittest

import all_pairs_speed
from all_pairs_speed import Run, SAQUERY, irpctl
from lab import wait_until
from lab_case import LabCase


class AllPairsTest(LabCase):
    hosts = 40

    def test_paths_equal_saquerys(self):
        asked = self.lab.run(all_pairs_speed.HOST, irpctl("--json"))
        self.assertEqual(asked.returncode, 0, asked.stderr)
        ours = [json.loads(line) for line in asked.stdout.splitlines()]
        theirs = self.lab.run(all_pairs_speed.HOST, SAQUERY).stdout
        ends = re.findall(r"dgid\.*(\S+)\n\s*sgid\.*(\S+)", theirs)
        self.assertEqual(len(ends), len(set(ends)))
        self.assertEqual(sorted((each["DGID"], each["SGID"]) for each in ours), sorted(ends))

    def test_progress_is_shown_on_a_terminal_and_erased(self):
        opensm = self.lab.opensm("H0001").pid()
        terminal, slave = pty.openpty()
        self.addCleanup(os.close, terminal)
        os.kill(opensm, signal.SIGSTOP)
        with self.lab.start(all_pairs_speed.HOST, irpctl(), stdout=subprocess.PIPE,
                            stderr=slave) as program:
            self.addCleanup(program.kill)
            os.close(slave)
            shown = os.read(terminal, 1000).decode()
            os.kill(opensm, signal.SIGCONT)
            paths, _ = program.communicate(timeout=300)
        self.assertEqual(program.returncode, 0)
        self.assertIn("0 records", shown)
        self.assertNotIn("records ...", paths)
        self.assertTrue(wait_until(lambda: self.rest_of(terminal, shown).endswith("\r\033[K"), 5))

    def rest_of(self, terminal, shown):
        try:
            return shown + os.read(terminal, 10_000).decode()
        except OSError:  # irpctl has closed its end
            return shown


class ManyPairsTest(LabCase):
    hosts = 600
    most_memory = 24 << 20  # less than the printed records would take in memory

    @unittest.skipIf("IRPVERBS_SANITIZED" in os.environ, "a sanitizer keeps what was freed")
    def test_paths_are_not_collected_in_memory(self):
        for form in ([], ["--json"]):
            run = Run(self.lab, irpctl(*form))
            self.assertEqual(run.status, 0, run.said)
            self.assertLess(run.memory, self.most_memory)


class SpeedTest(unittest.TestCase):
    def measured(self, tolerance):
        program = pathlib.Path(all_pairs_speed.__file__)
        return subprocess.run([sys.executable, str(program), "--hosts", "20", "--rounds", "1",
                               "--tolerance", tolerance], capture_output=True, text=True, timeout=300,
                              check=False)

    def test_missed_bar_exits_1(self):
        missed = self.measured("-0.9999")
        self.assertEqual(missed.returncode, 1, missed.stderr)
        self.assertIn(f"{21 * 21} pairs", missed.stdout)
        self.assertEqual((missed.stdout.count(" missed"), missed.stdout.count(" met")), (1, 1))
        met = self.measured("1e9")
        self.assertEqual(met.returncode, 0, met.stderr)
        self.assertEqual(met.stdout.count(" met"), 2)


if __name__ == "__main__":
    unittest.main()
