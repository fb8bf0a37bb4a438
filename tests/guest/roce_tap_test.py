#!/usr/bin/env python3
"""An HCA on a TAP device, with the kernel's soft-RoCE on the device itself as the peer: programs over libibverbs and
librdmacm in both roles, and ping. Both are in one network namespace."""
import sys
import unittest

import roce_programs_test as programs

HCA = "roce:t0?tap=10.79.0.2,fd79::2"
ON_TAP = f"""
on_tap() {{ exec timeout 60 {programs.IRPCTL} --hca '{HCA}' run -- "$@"; }}
alone() {{ exec timeout 60 {programs.IRPCTL} --hca '{HCA}' "$@"; }}
"""
PINGPONGS = ["ibv_rc_pingpong", "ibv_uc_pingpong", "ibv_ud_pingpong"]
SET_UP = """
ip tuntap add dev t0 mode tap &&
ip link set dev t0 address 02:00:00:00:79:01 mtu 4300 up &&
ip addr add 10.79.0.1/24 dev t0 && ip addr add fd79::1/64 dev t0 nodad &&
ip link set dev lo up && rdma link add rxet type rxe netdev t0
"""
ADDRESSES = {4: ("10.79.0.1", "10.79.0.2"), 6: ("fd79::1", "fd79::2")}


def pair(name, server, client, family=4, function="pair"):
    commands = programs.both_roles(function, server, client, "on_tap", ADDRESSES[family])
    return programs.named(f"{name} over IPv{family}", commands)


def pingpong(name, size, gid):
    """The programs exchange their numbers over TCP, and find the devices by names."""
    words = f"{name} -e -n 50 -s {size} -g {gid} -d "
    commands = {"kernel serves": f"pair 'kernels {words}rxet' 'on_tap {words}irpverbs0 localhost'",
                "we serve": f"pair 'on_tap {words}irpverbs0' 'kernels {words}rxet localhost'"}
    return programs.named(f"{name} with GID {gid}", commands)


COMMANDS = {
    "set up": SET_UP,
    "attributes": "alone port",
    **pingpong("ibv_rc_pingpong", 20000, 1),
    **pingpong("ibv_rc_pingpong", 20000, 2),
    **pingpong("ibv_uc_pingpong", 20000, 1),
    **pingpong("ibv_ud_pingpong", 1000, 1),
    **pingpong("ibv_ud_pingpong", 1000, 2),
    **pair("rping", f"rping -s -a {{at}} {programs.RPING}", f"rping -c -a {{at}} {programs.RPING}"),
    **pair("rping", f"rping -s -a {{at}} {programs.RPING}", f"rping -c -a {{at}} {programs.RPING}", 6),
    **pair("ucmatose", "ucmatose -b {at} -c 4 -S 5000", "ucmatose -s {at} -c 4 -S 5000", function="anew"),
    **pair("udaddy", "udaddy -b {at} -c 2", "udaddy -s {at} -c 2", function="anew"),
    "ping": "( on_tap rping -s -a 10.79.0.2 ) & until ping -c 1 -W 1 10.79.0.2; do sleep 0.1; done"
            " && ping -c 3 10.79.0.2 && ping -6 -c 3 fd79::2 && kill $! ; wait",
}


class RoceTapTest(unittest.TestCase):
    said = None

    def test_programs_of_both_ends_succeed(self):
        self.assertEqual(list(self.said), list(COMMANDS))
        programs.expect_success(self, self.said)

    def test_ping_loses_no_packet(self):
        self.assertEqual(self.said["ping"][1].count("3 packets transmitted, 3 packets received"), 2, self.said["ping"][1])


if __name__ == "__main__":
    ended, RoceTapTest.said = programs.run_programs(
        [*programs.PROGRAMS, *(f"/usr/bin/{name}" for name in PINGPONGS)],
        {name: ON_TAP + command for name, command in COMMANDS.items()})
    if ended != 0:
        sys.exit(ended)
    unittest.main()
