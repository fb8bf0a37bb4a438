#!/usr/bin/env python3
"""Stream sockets of librdmacm (rsocket): both ends in this process, on one host of its own fabric."""
import ctypes
import errno
import os
import random
import select
import socket
import threading
import unittest

from drop_in import LIBRARIES
from rsocket import F_GETFL, F_SETFL, RDMA_INLINE, RDMA_IOMAPSIZE, RDMA_RQSIZE, RDMA_SQSIZE, SOL_RDMA, PollFd, checked, packed

os.environ["IRPVERBS_HCA"] = "software:"
RDMACM = ctypes.CDLL(str(LIBRARIES / "librdmacm.so.1"), use_errno=True)
RDMACM.riomap.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_long]
RDMACM.riomap.restype = ctypes.c_long
RDMACM.riounmap.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t]
for name in ("rsend", "riowrite", "rrecv"):
    getattr(RDMACM, name).restype = ctypes.c_ssize_t
RDMACM.riowrite.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_long, ctypes.c_int]

HOST = "198.18.0.1" # LID 1: the host's port
PROT_NONE, PROT_WRITE = 0, 2


def address(port, host=HOST):
    return packed(port, host)


class Stream:
    def __init__(self, number=None):
        self.number = checked(RDMACM.rsocket(socket.AF_INET, socket.SOCK_STREAM, 0)) if number is None else number

    def set(self, level, name, value):
        checked(RDMACM.rsetsockopt(self.number, level, name, ctypes.byref(ctypes.c_int(value)), 4))

    def get(self, level, name):
        value, size = ctypes.c_int(), ctypes.c_uint(4)
        checked(RDMACM.rgetsockopt(self.number, level, name, ctypes.byref(value), ctypes.byref(size)))
        return value.value

    def bind(self, port):
        checked(RDMACM.rbind(self.number, address(port), 16))

    def listen(self, port):
        self.bind(port)
        checked(RDMACM.rlisten(self.number, 8))

    def accept(self):
        return Stream(checked(RDMACM.raccept(self.number, None, None)))

    def connect(self, port, host=HOST):
        checked(RDMACM.rconnect(self.number, address(port, host), 16))

    def do_not_wait(self):
        checked(RDMACM.rfcntl(self.number, F_SETFL, os.O_NONBLOCK))

    def send(self, data, flags=0):
        return checked(RDMACM.rsend(self.number, data, len(data), flags))

    def receive(self, size, flags=0):
        room = ctypes.create_string_buffer(size)
        received = checked(RDMACM.rrecv(self.number, room, size, flags))
        return room.raw[:received]

    def receive_all(self):
        parts = []
        while part := self.receive(70_001):
            parts.append(part)
        return b"".join(parts)

    def poll(self, events, timeout=-1):
        asked = PollFd(self.number, events, 0)
        checked(RDMACM.rpoll(ctypes.byref(asked), 1, timeout))
        return asked.revents

    def shut_down(self, how):
        checked(RDMACM.rshutdown(self.number, how))

    def close(self):
        checked(RDMACM.rclose(self.number))


class Meanwhile(threading.Thread):
    """A call in a thread of its own; its result, or its failure, is the thread's."""

    def __init__(self, call, *arguments):
        super().__init__()
        self.call, self.arguments, self.value, self.failure = call, arguments, None, None
        self.start()

    def run(self):
        try:
            self.value = self.call(*self.arguments)
        except OSError as failure:
            self.failure = failure

    def result(self):
        self.join()
        if self.failure is not None:
            raise self.failure
        return self.value


class StreamSockets(unittest.TestCase):
    port = 7000

    def open(self):
        made = Stream()
        self.addCleanup(made.close)
        return made

    def listener(self):
        StreamSockets.port += 1
        made = self.open()
        made.listen(self.port)
        return made

    def connected(self, options=()):
        """Both ends of a connection, with the options. The test closes the second one."""
        server, client = self.listener(), self.open()
        for level, name, value in options:
            server.set(level, name, value)
            client.set(level, name, value)
        accepting = Meanwhile(server.accept)
        client.connect(self.port)
        return client, accepting.result()

    def assert_error(self, number, call, *arguments):
        with self.assertRaises(OSError) as failed:
            call(*arguments)
        self.assertEqual(errno.errorcode[failed.exception.errno], errno.errorcode[number])

    def exchange(self, one, other, sizes):
        data = random.Random(1).randbytes(sum(sizes))

        def send():
            at = 0
            for size in sizes:
                self.assertEqual(one.send(data[at:at + size]), size)
                at += size
            one.shut_down(socket.SHUT_WR)
        sending = Meanwhile(send)
        self.assertEqual(other.receive_all(), data)
        sending.result()

    # ---- bytes

    def test_bytes_arrive_in_order(self):
        client, server = self.connected()
        self.exchange(client, server, [1, 2, 3, 65_535, 65_536, 65_537, 1, 1_000_000, 7])
        self.exchange(server, client, [3_000_000])
        server.close()

    def test_small_buffers_are_used_again_and_again(self):
        client, server = self.connected([(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096), (socket.SOL_SOCKET, socket.SO_RCVBUF, 5000)])
        self.exchange(client, server, [1000, 4096, 4097, 1, 100_001])
        server.close()

    def test_more_messages_than_receives(self):
        client, server = self.connected([(SOL_RDMA, RDMA_SQSIZE, 16), (SOL_RDMA, RDMA_RQSIZE, 16)])
        self.exchange(client, server, [1] * 3000)
        server.close()

    def test_more_messages_than_their_numbers(self):
        client, server = self.connected()
        self.exchange(client, server, [1] * 70_000) # counted modulo 65,536
        server.close()

    def test_both_directions_and_four_threads(self):
        client, server = self.connected()
        both = [Meanwhile(self.exchange, client, server, [50_000] * 40), Meanwhile(self.exchange, server, client, [50_000] * 40)]
        for each in both:
            each.result()
        server.close()

    def test_peek_leaves_the_bytes(self):
        client, server = self.connected()
        client.send(b"twice")
        self.assertEqual(server.receive(9, socket.MSG_PEEK), b"twice")
        self.assertEqual(server.receive(2), b"tw")
        self.assertEqual(server.receive(9), b"ice")
        server.close()

    def test_waitall_waits_for_all_bytes(self):
        client, server = self.connected()
        receiving = Meanwhile(server.receive, 400_000, socket.MSG_WAITALL)
        client.send(b"a" * 200_000)
        client.send(b"b" * 200_000)
        self.assertEqual(receiving.result(), b"a" * 200_000 + b"b" * 200_000)
        server.close()

    def test_vectors(self):
        class Part(ctypes.Structure):
            _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
        client, server = self.connected()
        words = [ctypes.create_string_buffer(each, len(each)) for each in (b"one", b"two")]
        parts = (Part * 2)(*(Part(ctypes.addressof(each), len(each)) for each in words))
        self.assertEqual(RDMACM.rwritev(client.number, parts, 2), 6)
        rooms = [ctypes.create_string_buffer(4), ctypes.create_string_buffer(4)]
        parts = (Part * 2)(*(Part(ctypes.addressof(each), 4) for each in rooms))
        while RDMACM.rrecv(server.number, ctypes.create_string_buffer(6), 6, socket.MSG_PEEK) != 6:
            pass
        self.assertEqual(RDMACM.rreadv(server.number, parts, 2), 6)
        self.assertEqual(rooms[0].raw + rooms[1].raw, b"onetwo\0\0")
        server.close()

    # ---- ends

    def test_half_closed_connection_sends_in_the_other_direction(self):
        client, server = self.connected()
        client.shut_down(socket.SHUT_WR)
        self.assertEqual(server.receive(1), b"")
        self.assert_error(errno.EPIPE, client.send, b"x")
        server.send(b"still here")
        self.assertEqual(client.receive(100), b"still here")
        server.close()
        self.assertEqual(client.receive(100), b"")

    def test_bytes_before_the_end_can_be_read(self):
        client, server = self.connected()
        server.send(b"last")
        server.close()
        self.assertEqual(client.poll(select.POLLIN), select.POLLIN)
        self.assertEqual(client.receive(100), b"last")
        self.assertEqual(client.receive(100), b"")
        self.assertTrue(client.poll(select.POLLIN) & select.POLLHUP)
        self.assert_error(errno.EPIPE, client.send, b"x")

    def test_no_listener_refuses(self):
        client = self.open()
        self.assert_error(errno.ECONNREFUSED, client.connect, 6999)
        self.assertEqual(client.get(socket.SOL_SOCKET, socket.SO_ERROR), 0)

    def test_address_without_port_is_unreachable(self):
        self.assert_error(errno.EHOSTUNREACH, self.open().connect, 6999, "198.18.99.99")

    def test_calls_without_connection(self):
        unused = self.open()
        self.assert_error(errno.ENOTCONN, unused.receive, 1)
        self.assert_error(errno.ENOTCONN, unused.send, b"x")
        self.assert_error(errno.ENOTCONN, unused.shut_down, socket.SHUT_RDWR)
        self.assert_error(errno.EBADF, Stream(12345).send, b"x")
        self.assert_error(errno.EINVAL, unused.accept)
        self.assertEqual(RDMACM.rsocket(socket.AF_INET, socket.SOCK_RAW, 0), -1)
        self.assertEqual(ctypes.get_errno(), errno.ESOCKTNOSUPPORT)

    # ---- readiness

    def test_nonblocking_calls_do_not_wait(self):
        server, client = self.listener(), self.open()
        server.do_not_wait()
        client.do_not_wait()
        self.assert_error(errno.EAGAIN, server.accept)
        self.assert_error(errno.EINPROGRESS, client.connect, self.port)
        self.assert_error(errno.EALREADY, client.connect, self.port)
        while not server.poll(select.POLLIN, 0):
            self.assertEqual(client.poll(select.POLLOUT, 0), 0) # the request advances in calls of its socket
        accepted = server.accept()
        self.assertEqual(client.poll(select.POLLOUT), select.POLLOUT)
        self.assertEqual(client.get(socket.SOL_SOCKET, socket.SO_ERROR), 0)
        self.assert_error(errno.EISCONN, client.connect, self.port)
        self.assert_error(errno.EAGAIN, client.receive, 1)
        self.assertEqual(client.poll(select.POLLIN, 0), 0)
        accepted.send(b"x")
        self.assertEqual(client.poll(select.POLLIN), select.POLLIN)
        self.assertEqual(client.receive(9), b"x")
        accepted.close()

    def test_full_stream_is_writable_when_the_peer_has_read(self):
        client, server = self.connected()
        client.do_not_wait()
        sent = 0
        while client.poll(select.POLLOUT, 0):
            sent += client.send(b"x" * 10_000)
        self.assert_error(errno.EAGAIN, client.send, b"x")
        reading = Meanwhile(server.receive, sent, socket.MSG_WAITALL)
        self.assertEqual(client.poll(select.POLLOUT), select.POLLOUT)
        self.assertEqual(reading.result(), b"x" * sent)
        server.close()

    def test_refusal_is_reported_to_a_poll(self):
        client = self.open()
        client.do_not_wait()
        with self.assertRaises(OSError) as failed:
            client.connect(6999)
        if failed.exception.errno == errno.EINPROGRESS: # else the refusal came during the call
            self.assertTrue(client.poll(select.POLLOUT) & select.POLLERR)
            self.assertEqual(client.get(socket.SOL_SOCKET, socket.SO_ERROR), errno.ECONNREFUSED)
        else:
            self.assertEqual(failed.exception.errno, errno.ECONNREFUSED)

    def test_poll_looks_at_other_descriptors(self):
        client, server = self.connected()
        reader, writer = os.pipe()
        self.addCleanup(os.close, reader)
        self.addCleanup(os.close, writer)
        asked = (PollFd * 2)(PollFd(client.number, select.POLLIN, 0), PollFd(reader, select.POLLIN, 0))
        self.assertEqual(RDMACM.rpoll(asked, 2, 20), 0)
        os.write(writer, b"x")
        self.assertEqual(RDMACM.rpoll(asked, 2, -1), 1)
        self.assertEqual([each.revents for each in asked], [0, select.POLLIN])
        server.send(b"x")
        os.read(reader, 1)
        self.assertEqual(RDMACM.rpoll(asked, 2, -1), 1)
        self.assertEqual([each.revents for each in asked], [select.POLLIN, 0])
        server.close()

    def test_select(self):
        client, server = self.connected()

        def selected(timeout):
            reads, writes = (ctypes.c_ulong * 16)(), (ctypes.c_ulong * 16)()
            for each in (reads, writes):
                each[client.number // 64] = 1 << client.number % 64
            count = checked(RDMACM.rselect(client.number + 1, reads, writes, None, timeout))
            return count, any(reads), any(writes)
        self.assertEqual(selected(None), (1, False, True))
        server.send(b"x")
        client.poll(select.POLLIN)
        self.assertEqual(selected(None), (2, True, True))
        server.close()

    # ---- direct writes

    def test_mapped_buffer_is_written_directly(self):
        client, server = self.connected([(SOL_RDMA, RDMA_IOMAPSIZE, 2)])
        buffers = [ctypes.create_string_buffer(200_000), ctypes.create_string_buffer(10)]
        for offset, each in zip((1000, 5_000_000), buffers):
            self.assertEqual(RDMACM.riomap(server.number, each, len(each), PROT_WRITE, 0, offset), offset)
        self.assertEqual(RDMACM.riomap(server.number, buffers[0], 5, PROT_WRITE, 0, 9_000_000), -1) # two are all
        self.assertEqual(ctypes.get_errno(), errno.ENOSPC)
        server.send(b"mapped")
        self.assertEqual(client.receive(9), b"mapped")
        data = random.Random(2).randbytes(199_990)
        self.assertEqual(RDMACM.riowrite(client.number, data, len(data), 1010, 0), len(data))
        self.assertEqual(RDMACM.riowrite(client.number, b"0123456789", 10, 5_000_000, 0), 10)
        client.send(b"written")
        self.assertEqual(server.receive(9), b"written")
        self.assertEqual(buffers[0].raw, bytes(10) + data)
        self.assertEqual(buffers[1].raw, b"0123456789")
        for offset in (999, 201_000, 5_000_010):
            self.assertEqual(RDMACM.riowrite(client.number, b"x", 1, offset, 0), -1)
            self.assertEqual(ctypes.get_errno(), errno.EFAULT)
        self.assertEqual(RDMACM.riounmap(server.number, buffers[1], 10), 0)
        self.assertEqual(RDMACM.riomap(server.number, buffers[0], 5, PROT_WRITE, 0, 9_000_000), 9_000_000)
        self.assertEqual(RDMACM.riounmap(server.number, buffers[1], 10), -1)
        server.close()

    def test_peer_without_mappings_takes_none(self):
        client, server = self.connected()
        room = ctypes.create_string_buffer(10)
        self.assertEqual(RDMACM.riomap(server.number, room, 10, PROT_WRITE, 0, 0), -1)
        self.assertEqual(ctypes.get_errno(), errno.ENOSPC)
        self.assertNotEqual(RDMACM.riomap(server.number, room, 10, PROT_NONE, 0, -1), -1)
        del client
        server.close()

    # ---- options

    def test_options_of_sizes_are_kept(self):
        made = self.open()
        for level, name, value in ((socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 19), (socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 19),
                                   (SOL_RDMA, RDMA_SQSIZE, 64), (SOL_RDMA, RDMA_RQSIZE, 64), (SOL_RDMA, RDMA_INLINE, 0),
                                   (SOL_RDMA, RDMA_IOMAPSIZE, 1)):
            made.set(level, name, value)
            self.assertEqual(made.get(level, name), value)
        made.set(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.set(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.assert_error(errno.ENOPROTOOPT, made.set, socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        self.assertEqual(RDMACM.rfcntl(made.number, F_GETFL), os.O_RDWR)

    def test_addresses_of_both_ends(self):
        client, server = self.connected()
        for one, other in ((client, server), (server, client)):
            own, peers, size = ctypes.create_string_buffer(16), ctypes.create_string_buffer(16), ctypes.c_uint(16)
            checked(RDMACM.rgetsockname(one.number, own, ctypes.byref(size)))
            checked(RDMACM.rgetpeername(other.number, peers, ctypes.byref(size)))
            self.assertEqual(own.raw, peers.raw)
            self.assertEqual(size.value, 16)
        server.close()


if __name__ == "__main__":
    unittest.main()
