#!/usr/bin/env python3
"""Programs over librdmacm, unmodified: two processes on the fabric of one daemon."""
import re
import sys
import unittest

from drop_in import run
from two_processes import TwoProcesses, are_idle

SERVER = "198.18.0.1"  # LID 1: host1
SERVERS_GID = "fe80::200:0:0:101"
# Listens at a number that the library chooses, prints it, and awaits a request.
LISTENER = """
import ctypes
rdmacm = ctypes.CDLL("librdmacm.so.1", use_errno=True)
rdmacm.rdma_create_event_channel.restype = ctypes.c_void_p
channel = ctypes.c_void_p(rdmacm.rdma_create_event_channel())
made = ctypes.c_void_p()
assert rdmacm.rdma_create_id(channel, ctypes.byref(made), None, 0x106) == 0
assert rdmacm.rdma_bind_addr(made, bytes([2, 0, 0, 0, 198, 18, 0, 1]) + bytes(8)) == 0
assert rdmacm.rdma_listen(made, 1) == 0
print(rdmacm.rdma_get_src_port(made), flush=True)
rdmacm.rdma_get_cm_event(channel, ctypes.byref(made))
"""


class ConnectedPrograms(TwoProcesses):
    def await_manager(self, server):
        """Returns when the server waits for requests: it receives communication management, and then sleeps."""
        waits = rf"process {server.pid} of .* [1-9]\d* bytes of requests"
        while not re.search(waits, self.daemon.status()):
            self.assertIsNone(server.poll(), "the server ended")
        while not are_idle(server, self.daemon.process):
            self.assertIsNone(server.poll(), "the server ended")

    def start_server(self, *words):
        server = self.start("host1", *words)
        self.await_manager(server)
        return server

    def connect(self, server, client):
        """Runs both. Returns their outputs."""
        serving = self.start_server(*server)
        return self.output(self.start("host2", *client)), self.output(serving)

    def sent_bytes(self, lid):
        seen = run("perfquery", "-x", str(lid), "1", hca=self.daemon.host("host3")).stdout
        return 4 * int(re.search(r"PortXmitData:\.*(\d+)", seen)[1])


class RdmacmUtils(ConnectedPrograms):
    def test_rping_checks_its_data(self):
        for address, served_at in ((SERVER, ()), (SERVERS_GID, ("-a", "::"))):
            out, served = self.connect(("rping", "-s", *served_at, "-v", "-V", "-C", "100"),
                                       ("rping", "-c", "-a", address, "-v", "-V", "-C", "100"))
            self.assertIn("ping data: rdma-ping-99: ", out)
            self.assertIn("server ping data: rdma-ping-99: ", served)

    def test_rping_with_large_data_on_an_address_of_its_own(self):
        self.connect(("rping", "-s", "-V", "-C", "20", "-S", "60000", "-a", SERVER),
                     ("rping", "-c", "-V", "-C", "20", "-S", "60000", "-a", SERVER))

    def test_rping_serves_many_clients(self):
        server = self.start_server("rping", "-s", "-P")
        for _ in range(3):
            self.output(self.start("host2", "rping", "-c", "-a", SERVER, "-C", "5"))
        self.assertIsNone(server.poll())

    def test_ucmatose_makes_connections_at_once(self):
        out, served = self.connect(("ucmatose", "-c", "20", "-C", "10", "-S", "5000"),
                                   ("ucmatose", "-s", SERVER, "-c", "20", "-C", "10", "-S", "5000"))
        self.assertIn("return status 0", out)
        self.assertIn("return status 0", served)

    def test_ucmatose_migrates_its_ids(self):
        out, _ = self.connect(("ucmatose", "-m"), ("ucmatose", "-m", "-s", SERVER))
        self.assertIn("migrating to new event channel", out)

    def test_udaddy_resolves_a_service_of_datagrams(self):
        out, served = self.connect(("udaddy", "-c", "4"), ("udaddy", "-c", "4", "-s", SERVER))
        self.assertIn("return status 0", out)
        self.assertIn("return status 0", served)

    def test_mckey_sends_to_a_group(self):
        words = ("mckey", "-m", "239.1.2.3")
        server = self.start("host1", *words, "-b", SERVER)
        while "ff12:4001:ffff::f01:203" not in run("saquery", "-m", hca=self.daemon.host("host3")).stdout:
            self.assertIsNone(server.poll(), "the server ended")
        client = self.start("host2", *words, "-s")
        self.assertIn("data transfers complete", self.output(client))
        self.assertIn("data transfers complete", self.output(server))

    def test_endpoints_are_synchronous(self):
        out, served = self.connect(("rdma_server",), ("rdma_client", "-s", SERVER))
        self.assertIn("rdma_client: end 0", out)
        self.assertIn("rdma_server: end 0", served)

    def test_shared_receives_of_an_id(self):
        """The client sends inline without having asked for room."""
        out, served = self.connect(("rdma_xserver",), ("rdma_xclient", "-s", SERVER))
        self.assertIn("rdma_xclient: end 0", out)
        self.assertIn("rdma_xserver: end 0", served)

    def test_halves_of_an_extended_connection(self):
        out, served = self.connect(("rdma_xserver", "-c", "x"), ("rdma_xclient", "-c", "x", "-s", SERVER))
        self.assertIn("rdma_xclient: end 0", out)
        self.assertIn("rdma_xserver: end 0", served)

    def test_address_that_no_port_has_is_an_error(self):
        ended = run("rping", "-c", "-a", "198.18.99.99", "-C", "1", hca=self.daemon.host("host2"))
        self.assertIn("RDMA_CM_EVENT_ADDR_ERROR", ended.stdout)
        self.assertNotEqual(ended.returncode, 0)
        self.assertIn("Network is unreachable", run("rping", "-c", "-a", "10.9.8.7", hca=self.daemon.host("host2")).stdout)

    def test_processes_of_a_port_have_services_of_their_own(self):
        servers = {port: self.start_server("rping", "-s", "-P", "-p", port) for port in ("7001", "7002", "7003")}
        for port, server in servers.items():
            self.output(self.start("host2", "rping", "-c", "-a", SERVER, "-C", "5", "-p", port))
        ended = run("rping", "-c", "-a", SERVER, "-p", "7004", hca=self.daemon.host("host2"))
        self.assertIn("RDMA_CM_EVENT_REJECTED", ended.stdout)

    def test_number_of_another_process_is_in_use(self):
        """A process on another host has numbers of its own; those of a killed one are free."""
        server = self.start_server("rping", "-s", "-P", "-a", SERVER)
        for words, reason in ((("rping", "-s", "-a", SERVER), "Address already in use"),
                              (("rping", "-s"), "Cannot assign requested address"),
                              (("rping", "-s", "-a", SERVERS_GID, "-p", "7174"), None)):
            if reason is None:
                self.start_server(*words)
                continue
            ended = run(*words, hca=self.daemon.host("host1"))
            self.assertIn(f"rdma_bind_addr: {reason}", ended.stdout)
            self.assertNotEqual(ended.returncode, 0)
        elsewhere = self.start("host2", "rping", "-s")
        self.await_manager(elsewhere)
        server.kill()
        server.wait()
        self.start_server("rping", "-s")

    def test_numbers_that_processes_do_not_choose_differ(self):
        numbers = {self.start("host1", sys.executable, "-c", LISTENER).stdout.readline() for _ in range(3)}
        self.assertEqual(len(numbers), 3, numbers)

    def test_clients_of_one_port_connect_at_once(self):
        """rping's own server forgets one of two requests that arrive together."""
        server = self.start_server("ucmatose", "-c", "3", "-C", "20")
        clients = [self.start("host2", "ucmatose", "-s", SERVER, "-C", "20") for _ in range(3)]
        for client in clients:
            self.assertIn("return status 0", self.output(client))
        self.assertIn("return status 0", self.output(server))

    def test_killed_client_is_disconnected(self):
        server = self.start_server("rping", "-s", "-v")
        client = self.start("host2", "rping", "-c", "-a", SERVER, "-v")
        self.assertIn("ping data", client.stdout.readline())
        client.kill()
        out = server.communicate(timeout=500)[0]
        self.assertIn("DISCONNECT EVENT", out)
        self.assertNotIn("RETRY", out.upper())


class PerftestWithConnections(ConnectedPrograms):
    ATTEMPTS = 50
    REFUSED = "Unexpected CM event .* 8\n|RDMA_CM_EVENT_(REJECTED|UNREACHABLE)" # 8: RDMA_CM_EVENT_REJECTED

    def start_both(self, words, arrived):
        """Starts a server and its client, both anew when the client was refused. Returns them when `arrived(client)`.
        A program of perftest connects twice and does not await that its server listens for the second connection."""
        for _ in range(self.ATTEMPTS):
            server = self.start_server(*words)
            client = self.start("host2", *words, SERVER)
            while client.poll() is None and not arrived(client):
                pass
            if client.poll() in (None, 0):
                return server, client
            refused = client.stdout.read()
            self.assertRegex(refused, self.REFUSED)
            server.kill()
            server.wait()
        self.fail(f"the client was refused {self.ATTEMPTS} times: {refused}")

    def test_operations_and_transports(self):
        for program, *options in (("ib_write_bw",), ("ib_send_lat",), ("ib_read_lat",), ("ib_atomic_bw",),
                                  ("ib_send_bw", "-c", "UD"), ("ib_write_bw", "-q", "4")):
            server, client = self.start_both((program, "-R", "-n", "100", *options),
                                             lambda client: client.wait(timeout=500) == 0)
            self.output(server)
            out = self.output(client)
            self.assertRegex(out, r"(?m)^ *\d+ +\d+ +[\d.]+ +[\d.]+", program)
            self.assertIn("rdma_cm QPs\t : ON", out)

    def test_writes_to_a_killed_server_end_in_error(self):
        server, client = self.start_both(("ib_write_bw", "-R", "-D", "60"),
                                         lambda _: self.sent_bytes(3) > 10_000_000) # of connecting: some thousands
        server.kill()
        out = client.communicate(timeout=500)[0]
        self.assertNotEqual(client.returncode, 0, out)
        self.connect(("rping", "-s", "-C", "3"), ("rping", "-c", "-a", SERVER, "-C", "3"))


if __name__ == "__main__":
    unittest.main()
