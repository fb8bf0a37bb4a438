#!/usr/bin/env python3
"""sa_speed runs, and its exit status says whether the bars are met. No times are checked."""
import os
import unittest

from lab_case import LabCase

PROGRAM = os.environ["IRPVERBS_SA_SPEED"]
SIDES = ("umad, 8", "umad, 64", "umad, 256", "umad, 512", "ibmf, 64", "ibmf, 256", "access", "own manager, 64",
         "ibmad", "umad, 1", "ibmf, 1", "umad, table", "ibmf, table")
BARS = 10
NEVER = ("--tolerance", "-0.9999")
ALWAYS = ("--tolerance", "1e9")


class SaSpeedTest(LabCase):
    hosts = 20

    def measured(self, *words):
        result = self.lab.run("H0002", [PROGRAM, *words, "600", "1"])
        self.assertIn(f"{self.hosts} other ports", result.stdout, result.stderr)
        for side in SIDES:
            self.assertIn(f"\n{side} ", result.stdout)
        # A bar with a limit may be impossible instead of missed.
        missed = result.stdout.count("missed") + result.stdout.count("impossible")
        return result.returncode, missed, result.stdout.count(" met")

    def test_bars_are_printed(self):
        self.assertEqual(self.measured(*NEVER), (1, BARS, 0))
        self.assertEqual(self.measured("--print", *NEVER), (0, BARS, 0))
        self.assertEqual(self.measured(*ALWAYS), (0, 0, BARS))

    def test_one_side_runs_alone(self):
        result = self.lab.run("H0002", [PROGRAM, "50", "1", "umad, 256"])
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertNotIn("bar", result.stdout)
        self.assertNotEqual(self.lab.run("H0002", [PROGRAM, "50", "1", "none"]).returncode, 0)


if __name__ == "__main__":
    unittest.main()
