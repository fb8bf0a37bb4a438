#!/usr/bin/env python3
"""Datagram sockets of librdmacm (rsocket): both ends in this process, on an HCA at an address of the loopback interface."""
import ctypes
import errno
import os
import select
import socket
import struct
import unittest

from drop_in import LIBRARIES
from ethernet_test import address
from rsocket import F_SETFL, RDMA_SQSIZE, SOL_RDMA, PollFd, checked, packed

HOST = address(1)
os.environ["IRPVERBS_HCA"] = f"roce:{HOST}"
RDMACM = ctypes.CDLL(str(LIBRARIES / "librdmacm.so.1"), use_errno=True)
for name in ("rsendto", "rrecvfrom", "rsend", "rrecv"):
    getattr(RDMACM, name).restype = ctypes.c_ssize_t
    getattr(RDMACM, name).argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
MOST = 2048 - 24 # bytes of a datagram


class Datagrams:
    def __init__(self):
        self.number = checked(RDMACM.rsocket(socket.AF_INET, socket.SOCK_DGRAM, 0))

    def bind(self, host=HOST):
        """At a number that the system chooses."""
        checked(RDMACM.rbind(self.number, packed(0, host), 16))
        return self

    def _name(self, function):
        room, size = ctypes.create_string_buffer(16), ctypes.c_uint(16)
        checked(function(self.number, room, ctypes.byref(size)))
        return socket.inet_ntoa(room.raw[4:8]), struct.unpack("!H", room.raw[2:4])[0]

    def name(self):
        return self._name(RDMACM.rgetsockname)

    def peer(self):
        return self._name(RDMACM.rgetpeername)

    def connect(self, to):
        checked(RDMACM.rconnect(self.number, packed(to[1], to[0]), 16))

    def do_not_wait(self):
        checked(RDMACM.rfcntl(self.number, F_SETFL, os.O_NONBLOCK))

    def send_to(self, data, to):
        return checked(RDMACM.rsendto(self.number, data, len(data), 0, packed(to[1], to[0]), 16))

    def send(self, data):
        return checked(RDMACM.rsend(self.number, data, len(data), 0))

    def receive(self, size=4096, flags=0):
        """The datagram and its sender."""
        data, room, length = ctypes.create_string_buffer(size), ctypes.create_string_buffer(16), ctypes.c_uint(16)
        received = checked(RDMACM.rrecvfrom(self.number, data, size, flags, room, ctypes.byref(length)))
        return data.raw[:received], (socket.inet_ntoa(room.raw[4:8]), struct.unpack("!H", room.raw[2:4])[0])

    def poll(self, events, timeout=-1):
        asked = PollFd(self.number, events, 0)
        checked(RDMACM.rpoll(ctypes.byref(asked), 1, timeout))
        return asked.revents

    def close(self):
        checked(RDMACM.rclose(self.number))


class DatagramSockets(unittest.TestCase):
    def open(self):
        made = Datagrams()
        self.addCleanup(made.close)
        return made

    def pair(self):
        """Two ends that know each other's queue pairs."""
        one, other = self.open().bind(), self.open().bind()
        for each, peer in ((one, other), (other, one)):
            each.send_to(b"first", peer.name())
            self.assertEqual(peer.receive(), (b"first", each.name()))
        return one, other

    def assert_error(self, number, call, *arguments):
        with self.assertRaises(OSError) as failed:
            call(*arguments)
        self.assertEqual(errno.errorcode[failed.exception.errno], errno.errorcode[number])

    def test_each_size_arrives_with_its_sender(self):
        one, other = self.pair()
        for size in (0, 1, 1000, MOST):
            data = os.urandom(size)
            self.assertEqual(one.send_to(data, other.name()), size)
            self.assertEqual(other.receive(), (data, one.name()))
        self.assert_error(errno.EMSGSIZE, one.send_to, bytes(MOST + 1), other.name())

    def test_known_peers_send_by_queue_pairs(self):
        """A UDP socket that reads in place of the receiver's would get what is sent by UDP."""
        one, other = self.pair()
        one.send_to(b"by queue pair", other.name())
        with socket.socket(fileno=os.dup(other.number)) as beside:
            beside.setblocking(False)
            with self.assertRaises(BlockingIOError):
                beside.recv(100)
        self.assertEqual(other.receive()[0], b"by queue pair")

    def test_sockets_without_an_address_get_the_ports(self):
        server, client = self.open().bind("0.0.0.0"), self.open()
        number = server.name()[1]
        client.send_to(b"question", (HOST, number))
        data, sender = server.receive()
        self.assertEqual((data, sender[0]), (b"question", HOST))
        server.send_to(b"response", sender)
        self.assertEqual(client.receive(), (b"response", (HOST, number)))

    def test_connected_sockets_name_no_peer(self):
        one, other = self.open().bind(), self.open().bind()
        self.assert_error(errno.EDESTADDRREQ, one.send, b"to whom")
        self.assert_error(errno.ENOTCONN, one.peer)
        one.connect(other.name())
        self.assertEqual(one.peer(), other.name())
        one.send(b"data")
        self.assertEqual(other.receive(), (b"data", one.name()))

    def test_rest_of_a_datagram_is_lost_and_peek_leaves_it(self):
        one, other = self.pair()
        one.send_to(b"0123456789", other.name())
        one.send_to(b"next", other.name())
        self.assertEqual(other.receive(4, socket.MSG_PEEK)[0], b"0123")
        self.assertEqual(other.receive(4)[0], b"0123")
        self.assertEqual(other.receive()[0], b"next")

    def test_calls_that_may_not_wait(self):
        one, other = self.pair()
        self.assert_error(errno.EAGAIN, other.receive, 10, socket.MSG_DONTWAIT)
        other.do_not_wait()
        self.assert_error(errno.EAGAIN, other.receive)
        self.assertEqual(other.poll(select.POLLIN, 0), 0)
        self.assertEqual(other.poll(select.POLLIN | select.POLLOUT), select.POLLOUT)
        one.send_to(b"data", other.name())
        self.assertEqual(other.poll(select.POLLIN), select.POLLIN)
        self.assertEqual(other.receive()[0], b"data")

    def test_more_datagrams_than_requests(self):
        one, other = self.pair()
        for i in range(1000):
            one.send_to(struct.pack("=I", i), other.name())
            self.assertEqual(other.receive()[0], struct.pack("=I", i))

    def test_datagrams_that_find_no_room_do_no_harm(self):
        one, other = self.pair()
        for i in range(500):
            one.send_to(struct.pack("=I", i), other.name())
        received = [other.receive()[0]]
        while received[-1] != b"last": # sent again, since it may be lost, too
            one.send_to(b"last", other.name())
            other.poll(select.POLLIN)
            received.append(other.receive()[0])
        numbers = [struct.unpack("=I", each)[0] for each in received if each != b"last"]
        self.assertEqual(numbers, sorted(set(numbers)))

    def test_strangers_over_udp_are_ignored(self):
        one, other = self.pair()
        header = struct.pack("!IBBBBI4s", 0x55555555, 4, 0, 16, 0, 0x123456, socket.inet_aton(HOST))
        wrong = [b"", b"x", header[:15], b"\0" + header[1:], header[:4] + b"\6" + header[5:], header[:6] + b"\x1c" + header[7:]]
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as stranger:
            stranger.bind((HOST, 0))
            for each in wrong:
                stranger.sendto(each, other.name())
            stranger.sendto(header + bytes(3000), other.name()) # longer than any
            stranger.sendto(header + b"right", other.name())
            self.assertEqual(other.receive(), (b"right", stranger.getsockname()))
            response = stranger.recv(100)
        self.assertEqual(response[:8], struct.pack("!IBBBB", 0x55555555, 4, 7, 16, 0))
        self.assertEqual(response[12:], socket.inet_aton(HOST))
        one.send_to(b"data", other.name())
        self.assertEqual(other.receive()[0], b"data")

    def test_addresses_and_calls_that_are_none_of_a_datagram_socket(self):
        end = self.open().bind()
        self.assert_error(errno.EAFNOSUPPORT, lambda: checked(RDMACM.rsendto(end.number, b"x", 1, 0, bytes(16), 16)))
        self.assert_error(errno.EBADF, lambda: checked(RDMACM.rlisten(end.number, 1)))
        self.assert_error(errno.EADDRINUSE, lambda: checked(RDMACM.rbind(self.open().number, packed(end.name()[1], HOST), 16)))
        self.assert_error(errno.EPROTONOSUPPORT, lambda: checked(RDMACM.rsocket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_TCP)))

    def test_options_set_the_number_of_requests(self):
        one, other = self.open(), self.open().bind()
        for option, value in (((SOL_RDMA, RDMA_SQSIZE), 16), ((socket.SOL_SOCKET, socket.SO_RCVBUF), 65536)):
            number, size = ctypes.c_int(value), ctypes.c_uint(4)
            checked(RDMACM.rsetsockopt(one.number, *option, ctypes.byref(number), 4))
            checked(RDMACM.rgetsockopt(one.number, *option, ctypes.byref(number), ctypes.byref(size)))
            self.assertEqual(number.value, value)
        for _ in range(100):
            one.send_to(b"data", other.name())
            self.assertEqual(other.receive()[0], b"data")


if __name__ == "__main__":
    unittest.main()
