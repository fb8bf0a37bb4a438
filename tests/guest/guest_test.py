#!/usr/bin/env python3
"""guest.py itself: how programs, and guests, end."""
import os
import pathlib
import shlex
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = pathlib.Path(__file__).resolve().parent
GUEST = [sys.executable, "-W", "error", str(HERE / "guest.py")]
ENDS = os.environ["IRPVERBS_GUEST_ENDS"]
SKIPPED = 77


def run(*words, **environment):
    return subprocess.run([*GUEST, *words], env=dict(os.environ, **environment), text=True,
                          capture_output=True, timeout=100, check=False)


def bare(*words):
    return run("--devices", "none", *words)


def processes_with(text):
    found = []
    for folder in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if text.encode() in (folder / "cmdline").read_bytes():
                found.append(folder.name)
        except OSError:
            pass
    return found


class GuestTest(unittest.TestCase):
    def test_status_and_output_are_the_programs(self):
        words = ["3", "two words", "$HOME 'x'"]
        ended = bare(ENDS, *words)
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertEqual(ended.stdout, "".join(f"[{word}]\n" for word in words))

    def test_a_crash_is_the_signals_number(self):
        self.assertEqual(bare(ENDS, "crash").returncode, 128 + signal.SIGABRT)

    def test_a_hang_is_ended(self):
        ended = bare("--timeout", "5", ENDS, "hang")
        self.assertEqual(ended.returncode, 124, ended.stderr)
        self.assertIn("timed out after 5.0 s", ended.stderr)

    def test_a_panic_is_told(self):
        ended = bare("sh", "-c", "echo c > /proc/sysrq-trigger; sleep 60")
        self.assertEqual(ended.returncode, 125)
        self.assertIn("Kernel panic - not syncing: sysrq triggered crash", ended.stderr)

    def test_what_does_not_come_up_is_told(self):
        ended = run("--devices", "rxe,nosuch", ENDS, "0")
        self.assertEqual(ended.returncode, 125)
        self.assertIn("failed: rdma link add nosuch0", ended.stderr)

    def test_threads_and_sanitizers_work(self):
        lines = [f"{shlex.quote(ENDS)} threads"]
        programs = [ENDS]
        for kind in ("address", "thread"):
            program = os.environ[f"IRPVERBS_GUEST_PLANTED_{kind}"]
            programs.append(program)
            lines += [f"{shlex.quote(program)} nothing", f"! {shlex.quote(program)} {kind}"]
        files = [word for program in programs for word in ("--file", program)]
        ended = bare(*files, "sh", "-e", "-c", "\n".join(lines))
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("ERROR: AddressSanitizer: heap-use-after-free", ended.stdout)
        self.assertIn("WARNING: ThreadSanitizer: data race", ended.stdout)

    def test_the_guest_does_not_outlive_its_runner(self):
        with tempfile.TemporaryDirectory(prefix="guest") as scratch:
            console = f"{scratch}/console"
            with subprocess.Popen([*GUEST, "--devices", "none", "--console", console, ENDS, "hang"],
                                  stdout=subprocess.PIPE, text=True) as runner:
                runner.stdout.readline()  # it runs
                self.assertEqual(len(processes_with(f"file:{console}")), 1)
                runner.kill()
            end = time.monotonic() + 10
            while processes_with(f"file:{console}") and time.monotonic() < end:
                time.sleep(0.05)
            self.assertEqual(processes_with(f"file:{console}"), [])


class WithoutQemu(unittest.TestCase):
    def test_it_is_skipped_with_the_reason(self):
        ended = run(ENDS, "0", PATH="/nonexistent", IRPVERBS_REQUIRE_GUEST="")
        self.assertEqual(ended.returncode, SKIPPED)
        self.assertIn("SKIPPED: no qemu-system-x86_64 on this machine: run tools/bootstrap",
                      ended.stderr)

    def test_where_it_is_required_that_is_a_failure(self):
        ended = run(ENDS, "0", PATH="/nonexistent", IRPVERBS_REQUIRE_GUEST="1")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("FAILED: no qemu-system-x86_64", ended.stderr)

    def test_a_program_that_is_not_there_is_told(self):
        ended = run("./nosuch")
        self.assertEqual(ended.returncode, 125)
        self.assertIn("nosuch", ended.stderr)

    def test_wrong_usage(self):
        self.assertEqual(run().returncode, 2)
        self.assertIn("SKIPPED", run("--help").stdout.upper())


if __name__ == "__main__":
    ready = run("--check")
    if ready.returncode != 0:
        sys.stderr.write(ready.stderr)
        sys.exit(ready.returncode)
    unittest.main()
