#!/usr/bin/env python3
"""irpverbsd as systemd starts it: with a socket that listens already."""
import os
import signal
import socket
import subprocess
import tempfile
import unittest

DAEMON = os.environ["IRPVERBS_DAEMON"]
IRPCTL = os.environ["IRPVERBS_IRPCTL"]
FIRST = 3  # the descriptor, as of sd_listen_fds(3)


class Activation(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="irpverbsd")
        self.addCleanup(folder.cleanup)
        self.path = f"{folder.name}/socket"

    def listening(self, kind=socket.SOCK_SEQPACKET):
        made = socket.socket(socket.AF_UNIX, kind)
        self.addCleanup(made.close)
        made.bind(self.path)
        made.listen()
        return made

    def start(self, passed, count="1"):
        # The shell's number stays that of the daemon.
        script = f'exec {FIRST}<&{passed.fileno()}; export LISTEN_PID=$$ LISTEN_FDS={count}; exec "$0" --hca software:'
        process = subprocess.Popen(["bash", "-c", script, DAEMON], pass_fds=[passed.fileno()], stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_passed_socket_is_served_and_stays(self):
        process = self.start(self.listening())
        # The connection waits in the socket's queue until the daemon accepts.
        listed = subprocess.run([IRPCTL, "--hca", f"user:{self.path}", "devices"], stdout=subprocess.PIPE, text=True, check=True)
        self.assertIn("host1", listed.stdout)
        self.assertIn(f"HCAs at {self.path}", process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(), 0)
        self.assertTrue(os.path.exists(self.path), "the socket belongs to systemd")

    def test_another_kind_of_socket_is_refused(self):
        process = self.start(self.listening(socket.SOCK_STREAM))
        self.assertEqual(process.wait(), 1)
        self.assertIn("descriptor 3: no unix socket of type SOCK_SEQPACKET that listens", process.stderr.read())

    def test_several_sockets_are_refused(self):
        process = self.start(self.listening(), count="2")
        self.assertEqual(process.wait(), 1)
        self.assertIn("LISTEN_FDS is 2; one socket is served", process.stderr.read())


class Settings(unittest.TestCase):
    def test_wrong_settings_exit_2_with_one_line(self):
        for options, environment in ((["--no-such"], {}), (["--idle-turns", "many"], {}),
                                     (["--hca", "software"], {}), (["--hca", "hardware:"], {}), (["--hca", "software:?loss=2"], {}),
                                     ([], {"IRPVERBS_VERIFIER": "nonsense"})):
            ended = subprocess.run([DAEMON, *options], env={**os.environ, **environment}, capture_output=True, text=True,
                                   check=False)
            self.assertEqual(ended.returncode, 2, ended.stderr)
            self.assertEqual(len(ended.stderr.splitlines()), 1, ended.stderr)
            self.assertTrue(ended.stderr.startswith("irpverbsd: "), ended.stderr)


if __name__ == "__main__":
    unittest.main()
