#!/usr/bin/env python3
"""Programs whose daemon is killed: they see a device that is gone, and none waits for ever."""
import signal
import sys
import unittest

from drop_in import LIBRARIES, Daemon
from openmpi_test import MPIRUN, ON_ITS_HOST, PYTHON
from two_processes import TwoProcesses, are_idle, free_port, listens

MANAGEMENT = """
import ctypes, os, select, sys, threading
umad = ctypes.CDLL("libibumad.so.3", use_errno=True)
port = umad.umad_open_port(None, 0)
agent = umad.umad_register(port, 3, 2, 1, None)
buffer, length = ctypes.create_string_buffer(400), ctypes.c_int(256)
results = []
def receive():
    results.append((umad.umad_recv(port, buffer, ctypes.byref(length), -1), ctypes.get_errno()))
waiting = [threading.Thread(target=receive) for _ in range(2)]
for each in waiting: each.start()
print("ready", flush=True)
for each in waiting: each.join()
print("received", results)
print("poll", umad.umad_poll(port, -1), select.select([port], [], [], 0)[0] == [port])
print("send", umad.umad_send(port, agent, buffer, 256, 100, 0), ctypes.get_errno())
print("closed", umad.umad_unregister(port, agent), umad.umad_close_port(port))
"""

VERBS = """
import ctypes, os, select, sys, threading
verbs = ctypes.CDLL("libibverbs.so.1", use_errno=True)
pointer = ctypes.c_void_p
for name in ("ibv_get_device_list", "ibv_open_device", "ibv_create_comp_channel", "ibv_create_cq"):
    getattr(verbs, name).restype = pointer
devices = ctypes.cast(verbs.ibv_get_device_list(None), ctypes.POINTER(pointer))
context = pointer(verbs.ibv_open_device(pointer(devices[0])))
channel = pointer(verbs.ibv_create_comp_channel(context))
queue = pointer(verbs.ibv_create_cq(context, 10, None, channel, 0))
# The descriptors of struct ibv_context and struct ibv_comp_channel
context_descriptor = ctypes.cast(pointer(context.value + 268), ctypes.POINTER(ctypes.c_int))[0]
descriptor = ctypes.cast(pointer(channel.value + 8), ctypes.POINTER(ctypes.c_int))[0]
results = []
def wait():
    taken = pointer(), pointer()
    results.append((verbs.ibv_get_cq_event(channel, *map(ctypes.byref, taken)), ctypes.get_errno()))
waiting = [threading.Thread(target=wait) for _ in range(2)]
for each in waiting: each.start()
print("ready", flush=True)
for each in waiting: each.join()
print("completion events", results)
print("readable", select.select([descriptor, context_descriptor], [], [], 0)[0] == [descriptor, context_descriptor])
event = ctypes.create_string_buffer(64)
print("event", verbs.ibv_get_async_event(context, event), int.from_bytes(event[8:12], "little"))
print("event", verbs.ibv_get_async_event(context, event), ctypes.get_errno())
late = pointer(verbs.ibv_create_comp_channel(context))
taken = pointer(), pointer()
print("late channel", verbs.ibv_get_cq_event(late, *map(ctypes.byref, taken)), ctypes.get_errno())
print("destroyed", verbs.ibv_destroy_comp_channel(late), verbs.ibv_destroy_cq(queue),
      verbs.ibv_destroy_comp_channel(channel), verbs.ibv_close_device(context))
"""
EIO = 5
DEVICE_FATAL = 8


class DaemonEnd(TwoProcesses):
    def script(self, text):
        """The output of a script that is ready before the daemon is killed."""
        process = self.start("host1", sys.executable, "-c", text)
        self.assertEqual(process.stdout.readline(), "ready\n")
        self.daemon.kill()
        return self.output(process)

    def ending(self, process):
        """The output of a program that ends by itself."""
        out = process.communicate(timeout=100)[0]
        self.assertGreaterEqual(process.returncode, 0, out) # not by a signal
        return out

    def kill_when_sending(self, *words, **more):
        """Starts a client, and kills the daemon when it sends. Returns the client."""
        before = self.counter(3, 1, "PortXmitPkts")
        client = self.start("host2", *words, **more)
        while self.counter(3, 1, "PortXmitPkts") < before + 500:
            self.assertIsNone(client.poll(), "the client ended")
        self.daemon.kill()
        return client

    def exchange(self, server, client):
        """Returns the outputs of client and server, whose daemon was killed."""
        client = self.kill_when_sending(*client)
        return self.ending(client), self.ending(server)

    def serve(self, *words, **more):
        """The server when it listens, and the words of its client."""
        server = self.start("host1", *words, **more)
        while not listens(int(words[-1])):
            self.assertIsNone(server.poll(), "the server ended")
        return server, (*words, "127.0.0.1")

    def exchange_by_tcp(self, *words):
        return self.exchange(*self.serve(*words, "-p", str(free_port())))

    def test_receivers_of_datagrams_get_EIO(self):
        out = self.script(MANAGEMENT)
        self.assertIn(f"received [({-EIO}, {EIO}), ({-EIO}, {EIO})]", out)
        self.assertIn("poll 0 True", out)
        self.assertIn(f"send {-EIO} {EIO}", out)
        self.assertIn("closed 0 0", out)

    def test_waits_for_events_get_EIO(self):
        out = self.script(VERBS)
        self.assertIn(f"completion events [(-1, {EIO}), (-1, {EIO})]", out)
        self.assertIn("readable True", out)
        self.assertIn(f"event 0 {DEVICE_FATAL}\nevent -1 {EIO}", out)
        self.assertIn(f"late channel -1 {EIO}", out)
        self.assertIn("destroyed 0 0 0 0", out)

    def test_servers_end(self):
        ping = self.start("host1", "ibping", "-S")
        watch = self.start("host1", "stdbuf", "-oL", "ibv_asyncwatch")
        self.assertIn("async event FD", watch.stdout.readline())
        services = [self.start("host1", *words) for words in (("rping", "-s"), ("rdma_server",), ("rstream", "-p", "7472"))]
        self.output(self.start("host2", "ibping", "-c", "1", "1"))
        opened = 5 # by each: for verbs, and twice for the connections of each port, whose managers come last
        while any(self.daemon.status().count(f"process {each.pid} ") < opened for each in services):
            for each in services:
                self.assertIsNone(each.poll(), "the server ended")
        self.daemon.kill()
        for each in (ping, watch, *services):
            self.ending(each)

    def test_exchanges_that_poll_end(self):
        for out in self.exchange_by_tcp("ibv_rc_pingpong", "-n", "100000000"):
            self.assertRegex(out, "poll CQ failed|Couldn't post")

    def test_exchanges_that_await_events_end(self):
        for out in self.exchange_by_tcp("ibv_rc_pingpong", "-n", "100000000", "-e"):
            self.assertRegex(out, "Failed to get cq_event|Couldn't request CQ notification|poll CQ failed|Couldn't post")

    def test_measurements_end(self):
        client, _ = self.exchange_by_tcp("ib_write_bw", "-D", "100") # whose server waits by TCP
        self.assertIn("Failed to complete run_iter_bw", client)

    # ib_write_lat is not among them: its ends poll their memory, and the one that waits makes no call.
    def test_measurements_of_each_operation_end(self):
        cases = (("ib_send_lat",), ("ib_send_lat", "-e"), ("ib_send_lat", "-c", "UD"), ("ib_send_bw", "-b"), ("ib_read_lat",),
                 ("ib_read_bw",), ("ib_atomic_lat",), ("ib_atomic_bw",))
        for words in cases:
            with self.subTest(words):
                client, _ = self.exchange_by_tcp(*words, "-n", "5000000")
                self.assertRegex(client, r"poll .*CQ failed|Failed to (get cq_event|complete run_iter)|Couldn't (post|request CQ)")
            self.daemon = Daemon(self)

    def test_measurement_that_is_served_by_a_process_of_its_own_ends(self):
        server, (*words, address) = self.serve("qperf", "-lp", str(free_port()))
        client = self.kill_when_sending(*words, "-t", "100", address, "rc_lat")
        self.assertRegex(self.ending(client), "failed to (get CQ event|post send)")
        self.assertIsNone(server.poll()) # it waits for the next client

    def test_UCX_ends_with_a_report(self):
        more = {"LD_PRELOAD": str(LIBRARIES / "libirpverbs-device-files.so"), "UCX_NET_DEVICES": "irpverbs0:1", "UCX_TLS": "rc_v,ud_v,self"}
        server, client = self.serve("ucx_perftest", "-t", "tag_lat", "-n", "100000000", "-p", str(free_port()), **more)
        for each in (self.kill_when_sending(*client, **more), server):
            out = each.communicate(timeout=100)[0]
            self.assertEqual(each.returncode, -signal.SIGABRT, out)
            self.assertRegex(out, "IB Async event on irpverbs0: local catastrophic error|Fatal: [Ff]ailed to poll")

    def test_Open_MPI_ends_with_a_report(self):
        ranks = self.kill_when_sending(*MPIRUN, "-np", "2", "sh", "-c", ON_ITS_HOST, "sh", PYTHON, "-m", "mpi4py.bench", "ringtest",
                                       "-l", "100000000", "-n", "1000", UCX_TLS="rc_v,self")
        out = ranks.communicate(timeout=100)[0]
        self.assertNotEqual(ranks.returncode, 0)
        self.assertRegex(out, "IB Async event on irpverbs0: local catastrophic error|Fatal: [Ff]ailed to poll")

    def test_connections_by_address_end(self):
        server = self.start("host1", "rping", "-s")
        for out in self.exchange(server, ("rping", "-c", "-a", "198.18.0.1")):
            self.assertIn("cma detected device removal", out)

    def test_connections_end_whose_program_waits_on_after_the_removal(self):
        words = ("ucmatose", "-C", "16000", "-S", "1000")
        client, server = self.exchange(self.start("host1", *words), (*words, "-s", "198.18.0.1"))
        for out in (client, server):
            self.assertRegex(out, r"failure in rdma_get_cm_event|failed to post sends")

    def test_services_end_whose_program_waits_on_after_the_removal(self):
        server = self.start("host1", "ucmatose")
        while self.daemon.status().count(f"process {server.pid} ") < 5 or not are_idle(server, self.daemon.process):
            self.assertIsNone(server.poll(), "the server ended")
        self.daemon.kill()
        self.assertIn("failure in rdma_get_cm_event in connect events: Input/output error", self.ending(server))


if __name__ == "__main__":
    unittest.main()
