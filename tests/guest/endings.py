"""Tests of the ends of programs and guests, for each kind of guest."""
import os
import pathlib
import select
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
GUEST = [sys.executable, "-W", "error", str(HERE / "guest.py")]
ENDS = os.environ["IRPVERBS_GUEST_ENDS"]
SKIPPED = 77


def run(*words, **environment):
    return subprocess.run([*GUEST, *words], env=dict(os.environ, **environment), text=True,
                          capture_output=True, timeout=500, check=False)


def planted(sanitizer):
    return os.environ[f"IRPVERBS_GUEST_PLANTED_{sanitizer}"]


def parents():
    """The parent of each process that is not a zombie."""
    found = {}
    for file in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            state, parent = file.read_text().rpartition(")")[2].split()[:2]
        except OSError:
            continue
        if state != "Z":
            found[int(file.parent.name)] = int(parent)
    return found


def still_there(watched, seconds):
    """The processes that have not ended after `seconds`; `watched` maps their pidfds to their numbers."""
    end = time.monotonic() + seconds
    poll = select.poll()
    for descriptor in watched:
        poll.register(descriptor, select.POLLIN)
    left = set(watched)
    while left and (wait := end - time.monotonic()) > 0:
        for descriptor, _ in poll.poll(wait * 1000):
            poll.unregister(descriptor)
            left.remove(descriptor)
    return {watched[each] for each in left}


def descendants(process):
    parent_of, found = parents(), {process}
    while more := {each for each, parent in parent_of.items() if parent in found} - found:
        found |= more
    return found - {process}


class Endings:
    KIND = []  # words to guest.py

    def run_bare(self, *words):
        return run(*self.KIND, "--devices", "none", *words)

    def test_program_ends_returns_its_status_and_output(self):
        words = ["3", "two words", "$HOME 'x'"]
        ended = self.run_bare(ENDS, *words)
        self.assertEqual(ended.returncode, 3, ended.stderr)
        self.assertEqual(ended.stdout, "".join(f"[{word}]\n" for word in words))

    def test_crash_returns_the_number_of_the_signal(self):
        self.assertEqual(self.run_bare(ENDS, "crash").returncode, 128 + signal.SIGABRT)

    def test_hanging_program_is_killed(self):
        ended = self.run_bare("--timeout", "5", ENDS, "hang")
        self.assertEqual(ended.returncode, 124, ended.stderr)
        self.assertIn("timed out after 5.0 s", ended.stderr)

    def test_panic_is_reported(self):
        ended = self.run_bare("--memory", "256", "sh", "-c",
                              "echo 2 > /proc/sys/vm/panic_on_oom; exec tail /dev/zero")
        self.assertEqual(ended.returncode, 125)
        self.assertIn("Kernel panic - not syncing: Out of memory", ended.stderr)

    def test_device_not_up_is_reported(self):
        ended = run(*self.KIND, "--devices", "rxe,nosuch", ENDS, "0")
        self.assertEqual(ended.returncode, 125)
        self.assertIn("failed: rdma link add nosuch0", ended.stderr)

    def test_missing_program_is_reported(self):
        ended = run(*self.KIND, "./nosuch")
        self.assertEqual(ended.returncode, 125)
        self.assertIn("nosuch", ended.stderr)

    def test_killed_runner_ends_the_guest(self):
        """A program in the guest ends too, even one that makes no system call."""
        with subprocess.Popen([*GUEST, *self.KIND, "--devices", "none", "sh", "-c",
                               "echo it runs; while :; do :; done"],
                              stdout=subprocess.PIPE, text=True) as runner:
            runner.stdout.readline()
            guests = {os.pidfd_open(each): each for each in descendants(runner.pid)}
            self.assertGreater(len(guests), 0)
            runner.kill()
        left = still_there(guests, 10)
        for each in guests:
            os.close(each)
        for each in left:
            os.kill(each, signal.SIGKILL)
        self.assertEqual(left, set())
