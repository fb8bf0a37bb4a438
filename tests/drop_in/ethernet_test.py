#!/usr/bin/env python3
"""Programs over librdmacm, unmodified, on HCAs of "roce:" at addresses of the loopback interface."""
import os
import subprocess
import unittest
from pathlib import Path

from drop_in import Daemon, environment, run


def address(index):
    """One of three addresses of this process: tests run side by side."""
    number = 127 << 24 | (os.getpid() & 0x3FFFFF) << 2 | index
    return ".".join(str(number >> shift & 0xFF) for shift in (24, 16, 8, 0))


def has_socket(at, port=4791):
    """Whether the UDP port of the address or group has a socket."""
    numbers = "".join(f"{int(each):02X}" for each in reversed(at.split(".")))
    return f"{numbers}:{port:04X} " in Path("/proc/net/udp").read_text()


SERVER, CLIENT = address(1), address(2)


class ProgramsOnEthernet(unittest.TestCase):
    def start(self, hca, *words):
        process = subprocess.Popen(words, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, env=environment(hca))
        for each in (process.stdout.close, process.wait, process.kill): # in reverse order
            self.addCleanup(each)
        return process

    def connect(self, server, *client):
        """Runs the client, again until the server listens."""
        while not has_socket(SERVER):
            self.assertIsNone(server.poll(), "the server ended")
        while (ended := run(*client, hca=f"roce:{CLIENT}")).returncode != 0:
            self.assertIn("error 8", ended.stdout) # it does not listen yet
            self.assertIsNone(server.poll(), "the server ended")
        return ended.stdout

    def both(self, server, client):
        serving = self.start(f"roce:{SERVER}", *server)
        out = self.connect(serving, *client)
        served = serving.communicate(timeout=300)[0]
        self.assertEqual(serving.returncode, 0, served)
        return out, served

    def test_rping_checks_its_data(self):
        rping = ("rping", "-V", "-C", "20", "-S", "60000", "-a", SERVER)
        out, _ = self.both((*rping, "-s"), (*rping, "-c", "-v", "-I", CLIENT))
        self.assertIn("ping data: rdma-ping-19: ", out)

    def test_udpong_sends_datagrams(self):
        for how in ("blocking", "nonblocking", "async"):
            server = self.start(f"roce:{SERVER}", "udpong", "-b", SERVER, "-T", how)
            while not has_socket(SERVER, 7174):
                self.assertIsNone(server.poll(), "the server ended")
            for size in ("16", "1000", "2000"):
                ended = run("udpong", "-s", SERVER, "-T", how, "-C", "50", "-S", size, hca=f"roce:{CLIENT}")
                self.assertEqual(ended.returncode, 0, ended.stdout)
                self.assertRegex(ended.stdout, r"(?m)^custom ")
            server.kill()
            server.wait()

    def test_ucmatose_makes_connections_at_once(self):
        words = ("ucmatose", "-c", "10", "-C", "10", "-S", "5000")
        out, served = self.both((*words, "-b", SERVER), (*words, "-s", SERVER))
        self.assertIn("return status 0", out)
        self.assertIn("return status 0", served)

    def test_udaddy_resolves_a_service_of_datagrams(self):
        out, served = self.both(("udaddy", "-b", SERVER), ("udaddy", "-s", SERVER))
        self.assertIn("return status 0", out)
        self.assertIn("return status 0", served)

    def test_mckey_sends_to_a_group(self):
        group = f"239.{SERVER.split('.', 1)[1]}" # of this process
        words = ("mckey", "-m", group)
        server = self.start(f"roce:{SERVER}", *words, "-b", SERVER)
        while not has_socket(group):
            self.assertIsNone(server.poll(), "the server ended")
        client = run(*words, "-b", CLIENT, "-s", hca=f"roce:{CLIENT}")
        self.assertIn("data transfers complete", client.stdout)
        self.assertIn("data transfers complete", server.communicate(timeout=300)[0])

    def test_address_of_another_kind_is_unreachable(self):
        ended = run("rping", "-c", "-a", "fd78::1", "-C", "1", hca=f"roce:{CLIENT}")
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("Network is unreachable", ended.stdout)

    def test_processes_share_an_address_by_a_daemon(self):
        daemon = Daemon(self, f"roce:{SERVER}")
        servers = {port: self.start(daemon.host(SERVER), "rping", "-s", "-P", "-p", port) for port in ("7001", "7002")}
        for _ in range(2):
            for port, server in servers.items():
                self.connect(server, "rping", "-c", "-V", "-C", "5", "-a", SERVER, "-p", port)
        for server in servers.values():
            self.assertIsNone(server.poll())


if __name__ == "__main__":
    unittest.main()
