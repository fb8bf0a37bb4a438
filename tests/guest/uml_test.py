#!/usr/bin/env python3
"""Tests guest.py --uml: the ends of programs and guests, their environment, kept files, and test programs
of the project.

    uml_test.py WORDS...

WORDS: one argument for each run of guest.py: options, a program, its arguments."""
import os
import shlex
import subprocess
import sys
import tempfile
import unittest

from endings import ENDS, GUEST, Endings, run

RUNS = [shlex.split(each) for each in sys.argv[1:]]


class UmlTest(Endings, unittest.TestCase):
    KIND = ["--uml"]

    def test_own_programs_pass(self):
        for words in RUNS:
            with self.subTest(words=words):
                ended = run("--uml", *words)
                self.assertEqual(ended.returncode, 0, ended.stdout[-4000:] + ended.stderr)

    def test_status_0_and_77_are_returned(self):
        for status in (0, 77):
            self.assertEqual(self.run_bare(ENDS, str(status)).returncode, status)

    def test_long_output_is_complete(self):
        lines = 20000
        ended = self.run_bare("sh", "-c", f"while [ $((i += 1)) -le {lines} ]; do echo line $i; done")
        self.assertEqual(ended.stdout, "".join(f"line {i + 1}\n" for i in range(lines)))

    def test_threads_work(self):
        self.assertEqual(self.run_bare(ENDS, "threads").returncode, 0)

    def test_options_take_effect(self):
        ended = run("--uml", "--devices", "rxe,siw", "--events", "--before", "touch /tmp/before",
                    "--env", "NAME=two words", "--file", ENDS, "sh", "-ec",
                    "ls /proc/irpverbs_events /tmp/before; ls /sys/class/infiniband; echo $NAME")
        self.assertEqual(ended.stdout.split(), ["/proc/irpverbs_events", "/tmp/before", "rxe0", "rxe1",
                                                "siw0", "siw1", "two", "words"], ended.stderr)

    def test_written_files_are_not_kept(self):
        with tempfile.TemporaryDirectory(prefix="guest") as folder:
            ended = self.run_bare("sh", "-ec", f"mkdir -p {folder}; echo x > {folder}/written; "
                                               f"cat {folder}/written")
            self.assertEqual((ended.returncode, ended.stdout), (0, "x\n"), ended.stderr)
            self.assertEqual(os.listdir(folder), [])

    def test_files_below_a_kept_folder_are_kept(self):
        with tempfile.TemporaryDirectory(prefix="guest") as folder:
            ended = self.run_bare("--keep", folder, "sh", "-c", f"echo x > {folder}/written")
            self.assertEqual(ended.returncode, 0, ended.stderr)
            self.assertEqual(os.listdir(folder), ["written"])

    def test_shared_output_stays_blocking(self):
        reader, writer = os.pipe()
        subprocess.run([*GUEST, "--uml", "--devices", "none", "true"], stdout=writer, check=True)
        self.assertTrue(os.get_blocking(writer))
        os.close(reader)
        os.close(writer)


if __name__ == "__main__":
    ready = run("--uml", "--check")
    if ready.returncode != 0:
        sys.stderr.write(ready.stderr)
        sys.exit(ready.returncode)
    unittest.main(argv=sys.argv[:1])
