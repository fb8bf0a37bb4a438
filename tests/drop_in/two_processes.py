"""A server and a client, programs of others, on two hosts of one daemon's fabric."""
import re
import shutil
import socket
import subprocess
import unittest
from pathlib import Path

from drop_in import Daemon, environment


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def listens(port):
    """Whether a process of this machine listens at the TCP port."""
    listening = f":{port:04X} "
    tables = (Path(f"/proc/net/{name}").read_text() for name in ("tcp", "tcp6"))
    return any(listening in line[:50] and " 0A " in line for table in tables for line in table.splitlines())


def threads(processes):
    """State and context switches of each thread of the processes."""
    wanted = re.compile(r"^(?:State|\w*voluntary_ctxt_switches):.*", re.M)
    return {status: wanted.findall(status.read_text()) for process in processes
            for status in Path(f"/proc/{process.pid}/task").glob("*/status")}


def are_idle(*processes):
    """Whether all threads of the processes, which talk to one another only, sleep at one moment."""
    try:
        before, after = threads(processes), threads(processes)
    except OSError: # a thread ended between the listing and the reading
        return False
    return before == after and all("sleeping" in state for state, *_ in before.values())


class TwoProcesses(unittest.TestCase):
    fabric = "software:"

    def setUp(self):
        self.daemon = Daemon(self, self.fabric)

    def start(self, host, *words, **more):
        if shutil.which(words[0]) is None:
            self.fail(f"{words[0]} is not installed: run tools/bootstrap")
        process = subprocess.Popen(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=environment(self.daemon.host(host), **more))
        for each in (process.stdout.close, process.wait, process.kill): # in reverse order
            self.addCleanup(each)
        return process

    def output(self, process):
        """The output of a process, which must end without an error."""
        text = process.communicate(timeout=500)[0]
        self.assertEqual(process.returncode, 0, text)
        return text

    def counter(self, lid, port, name):
        """The value of a counter of a port; port 255: the sum of all ports of a switch."""
        out = self.output(self.start("host1", "perfquery", str(lid), str(port)))
        return int(re.search(rf"^{name}:\.+(\d+)$", out, re.MULTILINE)[1])

    def play(self, *words, port_option="-p", **more):
        """Runs the server on host1 and the client on host2. Returns the outputs of client and server."""
        port = free_port()
        words = (words[0], port_option, str(port), *words[1:])
        server = self.start("host1", *words, **more)
        while not listens(port):
            self.assertIsNone(server.poll(), "the server ended")
        client = self.start("host2", *words, "127.0.0.1", **more)
        return self.output(client), self.output(server)
