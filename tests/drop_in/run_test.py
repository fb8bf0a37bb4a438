#!/usr/bin/env python3
"""irpctl run: the environment of the program, what --verbose prints, and refusals."""
import os
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import unittest
from pathlib import Path

from drop_in import LIBRARIES, TOPOLOGIES

IRPCTL = os.environ["IRPVERBS_IRPCTL"]


def irpctl(*words, before=None, folder=None):
    environment = {**os.environ, "LC_ALL": "C"}
    environment.pop("IRPVERBS_HCA", None)
    environment.pop("LD_LIBRARY_PATH", None)
    environment.pop("LD_PRELOAD", None)
    environment.update(before or {})
    ended = subprocess.run([IRPCTL, *words], env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                           text=True, timeout=300, check=False)
    return ended.returncode, ended.stdout, ended.stderr


def shown(text):
    """The text with the name of the daemon's folder as documents have it."""
    return re.sub(r"/tmp/irpctl-\w{6}", "/tmp/irpctl-XXXXXX", text)


def wait_for_the_end_of(path):
    """Returns when no daemon listens at the socket."""
    while True:
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as connection:
                connection.connect(str(path))
                connection.recv(1) # until the daemon closes the connection
        except ConnectionResetError:
            pass
        except (FileNotFoundError, ConnectionRefusedError):
            return


class Page(unittest.TestCase):
    """docs/run-your-program.md: each block that begins with a command is what that command prints."""
    maxDiff = None

    def test_transcripts_are_real(self):
        root = Path(__file__).resolve().parents[2]
        page = (root / "docs/run-your-program.md").read_text()
        blocks = re.findall(r"^```\n(\$ .*?)^```$", page, re.DOTALL | re.MULTILINE)
        self.assertGreater(len(blocks), 5)
        path = f"{Path(IRPCTL).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "LC_ALL": "C", "PATH": path, "LD_LIBRARY_PATH": ""}
        environment.pop("IRPVERBS_HCA", None)
        for block in blocks:
            seen = ""
            for command in re.findall(r"^\$ (.*)$", block, re.MULTILINE):
                ended = subprocess.run(["sh", "-c", command], env=environment, cwd=root, stdin=subprocess.DEVNULL,
                                       stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                seen += f"$ {command}\n{ended.stdout}"
            self.assertEqual(shown(seen.replace(str(LIBRARIES), "/usr/lib/x86_64-linux-gnu/irpverbs")), block)


class Run(unittest.TestCase):
    maxDiff = None

    def test_program_gets_its_arguments_the_fabric_and_the_libraries(self):
        self.assertEqual(irpctl("run", "--", "ibstat", "-l"), (0, "irpverbs0\n", ""))
        self.assertEqual(irpctl("--hca", "software:", "run", "--", "sh", "-c",
                                'echo "$IRPVERBS_HCA $LD_LIBRARY_PATH"; exit 7'),
                         (7, f"software: {LIBRARIES}\n", ""))

    def test_programs_of_a_script_are_on_one_fabric_that_ends_with_it(self):
        script = f'echo "$IRPVERBS_HCA"; {IRPCTL} run --hosts host3 -- ibportstate 4 1 disable > /dev/null; ibhosts; exit 7'
        status, out, error = irpctl("run", "--", "sh", "-c", script)
        self.assertEqual((status, error), (7, ""))
        self.assertEqual(out.count("\nCa"), 3)
        self.assertNotIn('"host3"', out)
        path = Path(out.split("\n", maxsplit=1)[0].removeprefix("user:"))
        self.assertFalse(path.parent.exists())

    def test_signal_that_ends_the_program_is_its_status(self):
        self.assertEqual(irpctl("run", "--", "sh", "-c", "kill -9 $$"), (137, "", ""))

    def test_sigterm_goes_to_the_program(self):
        script = 'trap "echo ended; exit 3" TERM; echo begun; while :; do sleep 0.01; done'
        process = subprocess.Popen([IRPCTL, "run", "--", "sh", "-c", script], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline(), "begun\n")
        process.terminate()
        self.assertEqual(process.communicate(timeout=300)[0], "ended\n")
        self.assertEqual(process.returncode, 3)

    def test_daemon_ends_with_an_irpctl_that_is_killed(self):
        process = subprocess.Popen([IRPCTL, "run", "--", "sh", "-c", 'echo "$IRPVERBS_HCA"; read -r forever'],
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        path = Path(process.stdout.readline().strip().removeprefix("user:"))
        process.kill()
        process.communicate()
        wait_for_the_end_of(path)

    def test_next_irpctl_removes_the_folder_of_one_that_was_killed(self):
        with tempfile.TemporaryDirectory() as folder:
            script = 'echo "$IRPVERBS_HCA"; read -r forever'
            both = [subprocess.Popen([IRPCTL, "run", "--", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True, env={**os.environ, "TMPDIR": folder}) for _ in range(2)]
            killed, alive = (Path(each.stdout.readline().strip().removeprefix("user:")) for each in both)
            both[0].kill()
            both[0].communicate()
            self.assertTrue(killed.parent.exists())
            foreign = Path(folder) / "irpctl-foreig"
            foreign.mkdir()
            (foreign / "file").touch()
            self.assertEqual(irpctl("run", "--", "true", before={"TMPDIR": folder}), (0, "", ""))
            self.assertFalse(killed.parent.exists())
            self.assertTrue(alive.exists())
            self.assertEqual([each.name for each in foreign.iterdir()], ["file"])
            both[1].communicate("\n", timeout=300)
            self.assertEqual(both[1].returncode, 0)
            self.assertFalse(alive.parent.exists())

    def test_missing_folder_of_temporary_files_is_named(self):
        self.assertEqual(irpctl("run", "--", "true", before={"TMPDIR": "/no/such"}),
                         (1, "", "irpctl: TMPDIR=/no/such: No such file or directory; the daemon's socket is in that folder\n"))

    def test_daemon_without_descriptors_is_the_reason(self):
        seen = ""
        for descriptors in range(9, 12): # none for the connection, or none for its thread
            ended = subprocess.run(["sh", "-c", f"ulimit -n {descriptors}; exec {IRPCTL} run -- ibstat -l"], text=True,
                                   capture_output=True, timeout=300, check=False)
            seen += ended.stderr
        self.assertIn("/socket: no reply: a daemon has no descriptors left, or it is not irpverbsd\n", seen)
        self.assertNotIn("it is not the socket of irpverbsd", seen)

    def test_library_path_of_the_caller_stays(self):
        _, out, _ = irpctl("run", "--", "sh", "-c", 'echo "$LD_LIBRARY_PATH"', before={"LD_LIBRARY_PATH": "/opt/a:/b"})
        self.assertEqual(out, f"{LIBRARIES}:/opt/a:/b\n")

    def test_hosts_place_the_program(self):
        self.assertIn("LID start 0x4 ", irpctl("run", "--hosts", "host3", "--", "ibaddr")[1])
        self.assertEqual(irpctl("run", "--hosts", "host2,host4", "--", "ibstat", "-l")[1], "irpverbs0\nirpverbs1\n")

    def test_fabric_is_a_file_as_of_the_callers_folder(self):
        there = "cd / && ibhosts"
        _, by_name, _ = irpctl("run", "--fabric", "two_leaves.net", "--", "sh", "-c", there, folder=TOPOLOGIES)
        _, by_uri, _ = irpctl("--hca", f"software:{TOPOLOGIES}/two_leaves.net", "run", "--", "sh", "-c", there)
        self.assertIn('"H0004"', by_name)
        self.assertEqual(by_name, by_uri)

    def test_faults_of_cables_are_those_of_the_fabric(self):
        script = ("for i in $(seq 40); do smpquery -t 20 nodedesc 3 > /dev/null 2>&1; done;"
                  "until perfquery -t 20 -a 6 2> /dev/null; do :; done")
        for faults, damaged in (((), "0"), (("--loss", "0.1"), "[1-9].*")):
            _, out, _ = irpctl("run", *faults, "--", "sh", "-c", script)
            self.assertRegex(out, rf"(?m)^PortRcvErrors:\.+{damaged}$")

    def test_verbose_prints_the_environment_and_the_libraries(self):
        ibaddr = shutil.which("ibaddr")
        self.assertEqual(shown(irpctl("run", "--verbose", "--hosts", "host3", "--", "ibaddr")[2]),
                         f"irpctl: IRPVERBS_HCA=user:/tmp/irpctl-XXXXXX/socket?host=host3\n"
                         f"irpctl: LD_LIBRARY_PATH={LIBRARIES}\n"
                         f"irpctl: LD_PRELOAD={LIBRARIES}/libirpverbs-device-files.so\n"
                         f"irpctl: {ibaddr} loads {LIBRARIES}/libibumad.so.3\n")

    def test_verbose_says_when_a_program_loads_none(self):
        self.assertIn("/true itself loads none of them; a program that it starts, or a plug-in, may\n",
                      irpctl("run", "--verbose", "--", "true")[2])

    def test_program_with_the_rights_of_another_is_refused(self):
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "ibstat"
            shutil.copy(shutil.which("ibstat"), copy)
            for bit in (stat.S_ISUID, stat.S_ISGID):
                copy.chmod(0o755 | bit)
                self.assertEqual(irpctl("run", "--", str(copy)),
                                 (1, "", f"irpctl: {copy}: it is setuid or setgid, so it would not get these libraries; "
                                         "run a copy of it without that\n"))

    def test_wrong_calls_are_refused_in_one_line(self):
        for words, status, line in (
                (("run",), 2, "PROGRAM is required"),
                (("run", "--", "no-such-program"), 1, "no-such-program: there is no such program in PATH"),
                (("run", "--", "/no/such/program"), 1, "/no/such/program: No such file or directory"),
                (("run", "--fabric", "/no/such", "--", "true"), 1,
                 "/no/such: No such file or directory; --fabric names a topology file"),
                (("run", "--fabric", "", "--", "true"), 2, "--fabric: it names no file"),
                (("run", "--hosts", "", "--", "true"), 2, "--hosts: it names no host"),
                (("run", "--hosts", "--", "true"), 2, "--hosts: it names no host"),
                (("run", "--fabric", "--", "true"), 2, "--fabric: it names no file"),
                (("--hca", "nonsense", "run", "--", "true"), 2,
                 "--hca, IRPVERBS_HCA: 'nonsense' begins with none of 'software:', 'user:' and 'roce:'"),
                (("run", "--hosts", ",", "--", "true"), 2, "--hosts: it names no host"),
                (("run", "--loss", "nan", "--", "true"), 2, "--loss: a number from 0 to 0.5 was expected, not 'nan'"),
                (("run", "--reordering", "-1", "--", "true"), 2,
                 "--reordering: a number from 0 to 0.5 was expected, not '-1'"),
                (("--hca", "software:", "run", "--loss", "0.1", "--", "true"), 2,
                 "--loss, --duplication, --reordering: --hca names the fabric already"),
                (("--hca", "software:", "run", "--fabric", "a", "--", "true"), 2,
                 "--fabric: --hca names the HCAs already"),
                (("--hca", "rdma:", "run", "--", "true"), 2,
                 "run: rdma: has the kernel's HCAs, which programs find without irpctl"),
                (("--json", "run", "--", "true"), 2, "--json: run does not have this option"),
                (("--lmc", "1", "run", "--", "true"), 2, "--lmc: run does not have this option")):
            with self.subTest(words):
                got, out, error = irpctl(*words)
                self.assertEqual((got, out), (status, ""))
                self.assertEqual(error.count("\n"), 1)
                self.assertEqual(error.split(";")[0].rstrip("\n"), f"irpctl: {line}".split(";", maxsplit=1)[0])

    def test_host_that_is_not_there_is_the_programs_error(self):
        status, out, error = irpctl("run", "--hosts", "nowhere", "--", "ibstat")
        self.assertNotEqual(status, 0)
        self.assertEqual(out, "")
        self.assertRegex(error, r"^irpverbs: /.*: the daemon has no HCA 'nowhere': there is host1, host2, host3, host4\n")


if __name__ == "__main__":
    unittest.main()
