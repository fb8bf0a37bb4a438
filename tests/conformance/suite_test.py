#!/usr/bin/env python3
"""Checks the suite itself: its programs' manners, and that each planted defect is found by the case
that is meant to.

usage: suite_test.py PROGRAM PLANTED_PROGRAM [unittest options]
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

PROGRAM, PLANTED = sys.argv[1:3]


def run(*command):
    return subprocess.run(command, capture_output=True, text=True, check=False)


class Manners(unittest.TestCase):
    def test_wrong_command_line_exits_2_and_names_the_error(self):
        for options in (["--no-such"], ["--machine", "neither"], ["--variant", "fast"],
                        ["--filter", "No.Such*"], ["--hca", "software:/no/such/file"],
                        ["--seeds", "0"], ["--hca", "nothing"],
                        ["--hca", "bogus:"], ["--junit", ""], ["--junit", "/"],
                        ["--junit", "/no/such/folder/report.xml"],
                        ["--hca", "rdma:", "--machine", "simulated"]):
            seen = run(PROGRAM, *options)
            self.assertEqual(seen.returncode, 2, options)
            self.assert_one_line(seen.stderr)

    def assert_one_line(self, text):
        self.assertEqual(len(text.splitlines()), 1, text)
        self.assertTrue(text.startswith(pathlib.Path(PROGRAM).name + ": "), text)

    def test_wrong_environment_exits_2_and_names_the_setting(self):
        for name in ("IRPVERBS_STRATEGY", "IRPVERBS_SEEDS", "IRPVERBS_VERIFIER"):
            seen = subprocess.run([PROGRAM], capture_output=True, text=True, check=False,
                                  env={**os.environ, name: "nonsense"})
            self.assertEqual(seen.returncode, 2, name)
            self.assert_one_line(seen.stderr)
            self.assertIn(name, seen.stderr)

    def test_help_exits_0(self):
        self.assertEqual(run(PROGRAM, "--help").returncode, 0)

    def test_missing_hca_is_skipped_unless_required(self):
        seen = run(PROGRAM, "--hca", "rdma:absent", "--filter", "OpenCa.*")
        self.assertEqual(seen.returncode, 0)
        self.assertIn("skip  OpenCa.Success_ReturnsIbCa/real: no ", seen.stdout)
        self.assertEqual(run(PROGRAM, "--hca", "rdma:absent", "--require-hca").returncode, 1)

    def test_unwritable_results_exit_1_with_a_line(self):
        one = [PROGRAM, "--filter", "OpenCa.Success_ReturnsIbCa"]
        with tempfile.TemporaryDirectory() as folder:
            link = pathlib.Path(folder) / "full"
            link.symlink_to("/dev/full")
            seen = run(*one, "--junit", str(link))
            self.assertTrue(link.is_symlink())
        self.assertEqual(seen.returncode, 1)
        self.assertEqual(len(seen.stderr.splitlines()), 1, seen.stderr)
        with open("/dev/full", "wb") as full:
            seen = subprocess.run(one, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(seen.returncode, 1)
        self.assertEqual(len(seen.stderr.splitlines()), 1, seen.stderr)

    def test_interruption_ends_the_run_with_a_summary(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with tempfile.TemporaryDirectory() as folder:
                file = pathlib.Path(folder) / "report.xml"
                with subprocess.Popen([PROGRAM, "--seeds", "10", "--junit", str(file)],
                                      stdout=subprocess.PIPE, text=True) as suite:
                    self.assertTrue(suite.stdout.readline().startswith("pass  "))
                    suite.send_signal(number)
                    rest = suite.stdout.read().splitlines()
                self.assertEqual(suite.returncode, 128 + number)
                self.assertRegex(rest[-2], r"^\d+ passed, \d+ skipped, 0 failed")
                self.assertRegex(rest[-1], r"^interrupted: [1-9]\d* cases were not run$")
                cases = list(xml.etree.ElementTree.parse(file).iter("testcase"))
            not_run = [case for case in cases if case.find("skipped") is not None]
            self.assertIn(str(len(not_run)), rest[-1])

    def test_skipped_case_fails_when_required(self):
        blocking = [PROGRAM, "--variant", "blocking", "--filter", "EveryVerb.DispatchLevel_Completes"]
        self.assertEqual(run(*blocking).returncode, 0)
        self.assertEqual(run(*blocking, "--require", "EveryVerb.*").returncode, 1)

    def test_junit_names_the_sentences(self):
        with tempfile.TemporaryDirectory() as folder:
            file = pathlib.Path(folder) / "report.xml"
            run(PROGRAM, "--filter", "OpenCa.Success_ReturnsIbCa", "--junit", str(file))
            cases = list(xml.etree.ElementTree.parse(file).iter("testcase"))
        self.assertEqual([case.get("name") for case in cases],
                         ["Success_ReturnsIbCa/simulated", "Success_ReturnsIbCa/real"])
        for case in cases:
            proved = [each.get("value") for each in case.iter("property")]
            self.assertEqual(proved, ["STATUS_SUCCESS: Information is the IB_CA*."])


class Defects(unittest.TestCase):
    def test_each_defect_is_found_by_its_case(self):
        lines = [line.split() for line in run(PLANTED, "--defects").stdout.splitlines()]
        planted = [line for line in lines if len(line) == 2]
        self.assertGreater(len(planted), 25)
        for name, case in planted:
            with self.subTest(defect=name):
                seen = run(PLANTED, "--hca", f"planted:{name}", "--machine", "simulated",
                           "--filter", case)
                self.assertEqual(seen.returncode, 1, seen.stdout + seen.stderr)
                # AddressSanitizer stops the write behind the buffer; only then stdout stays empty.
                if "buffer-overflow on address" in seen.stderr:
                    self.assertEqual(name, "writes_beyond_the_buffer", seen.stderr)
                else:
                    self.assertIn(f"FAIL  {case}/simulated", seen.stdout)

    def test_no_defect_finds_nothing(self):
        seen = run(PLANTED, "--hca", "planted:nothing", "--machine", "simulated", "--seeds", "20",
                   "--require", "*")
        self.assertEqual(seen.returncode, 0, seen.stdout)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
