"""Types and values of rsocket(7) for tests that call the library."""
import ctypes
import os
import socket
import struct

SOL_RDMA, RDMA_SQSIZE, RDMA_RQSIZE, RDMA_INLINE, RDMA_IOMAPSIZE = 0x10000, 0, 1, 2, 3
F_GETFL, F_SETFL = 3, 4


class PollFd(ctypes.Structure):
    _fields_ = [("fd", ctypes.c_int), ("events", ctypes.c_short), ("revents", ctypes.c_short)]


def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def packed(port, host):
    """An IPv4 address and a port number."""
    return struct.pack("=H", socket.AF_INET) + struct.pack("!H", port) + socket.inet_aton(host) + bytes(8)
