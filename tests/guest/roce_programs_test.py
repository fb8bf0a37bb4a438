#!/usr/bin/env python3
"""Programs over librdmacm, unmodified: one of each pair on the software HCA's port of Ethernet, by the drop-in
libraries, and the other on the kernel's rdma_cm and soft-RoCE."""
import os
import pathlib
import sys
import unittest

import guest_script

HERE = pathlib.Path(__file__).resolve().parent
CABLE = str(HERE / "roce_cable")
IRPCTL = os.environ["IRPVERBS_IRPCTL"]
GLOBAL_ROUTES = os.environ["IRPVERBS_GLOBAL_ROUTES"]
LIBRARIES = [str(each) for each in pathlib.Path(os.environ["IRPVERBS_DROP_IN"]).glob("*.so*")]
PROGRAMS = [f"/usr/bin/{name}" for name in ("rping", "ucmatose", "udaddy", "mckey", "rdma_server", "rdma_client", "riostream",
                                            "rstream", "udpong", "ib_write_bw", "ib_send_bw")]
# The kernel's end is 10.78.0.1, and the other one 10.78.0.2. Each word is a program in a shell of its own.
FUNCTIONS = f"""
kernels() {{ exec timeout 60 "$@"; }}
# global_routes.c says why.
with_routes() {{ exec timeout ${{limit:-60}} env LD_PRELOAD={GLOBAL_ROUTES} "$@"; }}
ours() {{ exec /usr/sbin/ip netns exec there timeout 60 {IRPCTL} --hca roce:u0 run -- "$@"; }}
# Without a namespace: the kernel has the port of RoCEv2, but no device on rx1.
beside() {{ exec timeout 60 {IRPCTL} --hca 'roce:rx1?raw' run -- "$@"; }}
here() {{ exec /usr/sbin/ip netns exec there timeout 60 {IRPCTL} --hca roce:u0 "$@"; }}
# A request to an address without a socket would be lost, and repeated after 4 s.
await_socket() {{
    case $1 in ours*) until /usr/sbin/ip netns exec there grep -q :12B7 /proc/net/udp; do sleep 0.1; done ;; esac
}}
# rping's thread may ask for an event when its main thread, which has ended well, has closed the channel: its status is
# 255 then.
client() {{
    ( $1 ) 2> /tmp/client
    status=$?
    cat /tmp/client
    [ $status = 0 ] || grep -q 'rdma_get_cm_event: Bad file descriptor' /tmp/client
}}
# A client is started again until its server listens.
serve() {{
    $1 & server=$!
    await_socket "$1"
    until client "$2"; do
        kill -0 $server && sleep 0.1 || return 1
    done
}}
# The sender to a group begins when the receiver is a member. $1: the receiver's interface.
group() {{
    case $2 in ours*) at="-n there" ;; *) at= ;; esac
    $2 & receiver=$!
    until ip $at maddr show dev $1 | grep -q 239.7.7.7; do
        kill -0 $receiver && sleep 0.1 || return 1
    done
    ( $3 ) && wait $receiver
}}
pair() {{ serve "$@" && wait $server; }}
# The server of rping ends with its client's only request to disconnect, which may be lost.
pair_with_loss() {{
    serve "$@" || return 1
    kill $server
    wait $server || true
}}
# Some make several connections, of which a server that begins to listen in between takes the later ones: both start
# anew. So does perftest, which connects twice and does not await that its server listens for the second connection.
anew() {{
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        $1 & server=$!
        await_socket "$1"
        sleep 0.5
        if ( $2 ); then
            wait $server
            return
        fi
        kill $server
        wait $server
    done
    return 1
}}
# udpong's server has a UDP socket from its beginning, and no end.
datagrams() {{
    case $1 in ours*) at="/usr/sbin/ip netns exec there" ;; *) at= ;; esac
    $1 & server=$!
    until $at grep -q :1C06 /proc/net/udp /proc/net/udp6; do
        kill -0 $server && sleep 0.1 || return 1
    done
    ( $2 )
    status=$?
    kill $server
    wait $server
    return $status
}}
# With losses a response may be late, which udpong's client does not survive (docs/decisions/rsockets.md).
datagrams_with_loss() {{
    limit=20
    for attempt in 1 2 3; do
        datagrams "$@" && return
    done
    return 1
}}
lose() {{
    tc qdisc replace dev k0 root netem loss $1
    tc -n there qdisc replace dev u0 root netem loss $1
}}
"""
RPING = "-C 5 -V -S 20000"
MCKEY = "mckey -m 239.7.7.7 -C 5 -S 1000"
KERNELS = {4: "10.78.0.1", 6: "fd78::1"}
ON_RX = "10.77.0.1", "10.77.0.2" # rxe0 and, by a raw socket, ours
OURS = {4: "10.78.0.2", 6: "fd78::2"}


def both_roles(function, server, client, ours="ours", addresses=(KERNELS[4], OURS[4]), kernels="kernels"):
    """Commands with either end as the server. {at} is replaced by the server's address, of the kernel's end and ours."""
    def command(servers, clients, address):
        return " ".join([function, f"'{servers} {server.format(at=address)}'", f"'{clients} {client.format(at=address)}'"])
    return {"kernel serves": command(kernels, ours, addresses[0]), "we serve": command(ours, kernels, addresses[1])}


# Its echoes wait 1 ms: a later response is taken for the next one's, and its number is sent for ever.
def udpong(how, size, function="datagrams"):
    words = f"udpong -T {how} -C 100 -S {size}"
    return both_roles(function, f"{words} -b {{at}}", f"{words} -s {{at}}", kernels="with_routes")


def named(name, commands):
    return {f"{name}, {role}": command for role, command in commands.items()}


def streams(program, how):
    words = f"{program} -T {how} -T verify -I 5 -C 10 -S 20000"
    return named(f"{program} {how}", both_roles("pair", f"{words} -b {{at}}", f"{words} -s {{at}}"))


COMMANDS = {
    **named("rping", both_roles("pair", f"rping -s -a {{at}} {RPING}", f"rping -c -a {{at}} {RPING}")),
    "rping over IPv6, kernel serves": f"pair 'kernels rping -s -a {KERNELS[6]} {RPING}'"
                                      f" 'ours rping -c -a {KERNELS[6]} {RPING}'",
    "rping over IPv6, we serve": f"pair 'ours rping -s -a {OURS[6]} {RPING}'"
                                 f" 'kernels rping -c -a {OURS[6]} {RPING}'",
    **named("ucmatose", both_roles("anew", "ucmatose -b {at} -c 4 -S 5000", "ucmatose -s {at} -c 4 -S 5000")),
    **named("udaddy", both_roles("anew", "udaddy -b {at} -c 2", "udaddy -s {at} -c 2")),
    "mckey, kernel receives": f"group k0 'kernels {MCKEY} -b {KERNELS[4]}' 'ours {MCKEY} -s -b {OURS[4]}'",
    "mckey, we receive": f"group u0 'ours {MCKEY} -b {OURS[4]}' 'kernels {MCKEY} -s -b {KERNELS[4]}'",
    **named("endpoints", both_roles("pair", "rdma_server -s {at}", "rdma_client -s {at}")),
    **streams("riostream", "blocking"),
    **streams("riostream", "async"),
    **streams("rstream", "nonblocking"),
    **named("udpong blocking", udpong("blocking", 64)),
    **named("udpong nonblocking", udpong("nonblocking", 2000)),
    **named("udpong async", udpong("async", 1000)),
    **named("perftest", both_roles("anew", "ib_write_bw -R -n 20", "ib_write_bw -R -n 20 {at}")),
    "perftest, sends": f"anew 'kernels ib_send_bw -R -n 20' 'ours ib_send_bw -R -n 20 {KERNELS[4]}'",
    "irpctl cm connect": f"pair 'kernels ucmatose -b {KERNELS[4]} -C 1 -S 64'"
                         f" 'here cm connect --to {KERNELS[4]} --service 0x1061d2f'",
    "one port": "rdma link delete rxe1",
    "rping on one port, kernel serves": f"pair 'kernels rping -s -a {ON_RX[0]} {RPING}'"
                                        f" 'beside rping -c -a {ON_RX[0]} -I {ON_RX[1]} {RPING}'",
    "rping on one port, we serve": f"pair 'beside rping -s -a {ON_RX[1]} {RPING}'"
                                   f" 'kernels rping -c -a {ON_RX[1]} -I {ON_RX[0]} {RPING}'",
    "5 % loss": "lose 5%",
    # In the other role the DREP of a program that has ended may be lost; its DREQ is repeated for 69 s.
    "ucmatose with 5 % loss, we serve": f"pair 'ours ucmatose -b {OURS[4]} -c 4 -S 5000'"
                                        f" 'kernels ucmatose -s {OURS[4]} -c 4 -S 5000'",
    **named("rping with 5 % loss", both_roles("pair_with_loss", f"rping -s -a {{at}} {RPING}", f"rping -c -a {{at}} {RPING}")),
    **named("rstream with 5 % loss", streams("rstream", "blocking")),
    **named("riostream with 5 % loss", streams("riostream", "async")),
    **named("udpong with 5 % loss", udpong("blocking", 1000, "datagrams_with_loss")),
}


def run_programs(programs, commands, options=()):
    """Returns the guest's status, and a map from each name to the status and output of its command."""
    return guest_script.run("rxe", [CABLE, IRPCTL, GLOBAL_ROUTES, *LIBRARIES, *programs], commands, options, FUNCTIONS)


def expect_success(case, said):
    for name, (status, output) in said.items():
        with case.subTest(name):
            case.assertEqual(status, 0, output)
            if name.startswith(("ucmatose", "udaddy", "mckey")):
                case.assertEqual(output.count("return status 0"), 2, output)
            if name.startswith("perftest"):
                case.assertRegex(output, r"(?m)^ *65536 +20 +[\d.]+ +[\d.]+")


class RoceProgramsTest(unittest.TestCase):
    said = None

    def test_programs_of_both_ends_succeed(self):
        self.assertEqual(list(self.said), list(COMMANDS))
        expect_success(self, self.said)


if __name__ == "__main__":
    ended, RoceProgramsTest.said = run_programs(PROGRAMS, COMMANDS, ["--before", f". {CABLE}"])
    if ended != 0:
        sys.exit(ended)
    unittest.main()
