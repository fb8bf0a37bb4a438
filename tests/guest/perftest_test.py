#!/usr/bin/env python3
"""perftest with 2 bytes in one guest, by turns on two devices of soft-RoCE and on two hosts of a daemon by the drop-in libraries.

Both have the same emulated processors, so ratios count. Where the guest has to share its processors with other programs, the typical
times are those of waits for a processor, and the least time of a run is still that of the code."""
import os
import pathlib
import re
import sys
import unittest

import guest_script

LIBRARIES = pathlib.Path(os.environ["IRPVERBS_DROP_IN"])
DAEMON = os.environ["IRPVERBS_DAEMON"]
LATENCIES = "ib_send_lat", "ib_write_lat", "ib_read_lat"
BAR = 100 # times soft-RoCE's least latency: 4 to 6 when the guest has its processors, 15 in the worst of twelve runs beside compilers
RATES = "ib_send_bw", "ib_write_bw" # without a bar: a rate has the waits for processors in it
RUNS = {**{f"{name} -n 200": 2 for name in LATENCIES}, **{f"{name} -n 500": 1 for name in RATES}}
ENDS = "rxe", "ours"
FUNCTIONS = f"""
socket=/tmp/served/socket
rxe() {{ device=$1; shift; exec timeout 100 "$@" -d rxe$device -x 1; }}
ours() {{
    host=$(($1 + 1)); shift
    LD_LIBRARY_PATH={LIBRARIES} IRPVERBS_HCA="user:$socket?host=host$host" exec timeout 100 "$@"
}}
listens() {{ cat /proc/net/tcp /proc/net/tcp6 | grep -q ":$(printf %04X $1) .* 0A "; }}
measure() {{ # END PORT PROGRAM
    words="$3 -s 2 -F -p $2"
    ( $1 0 $words > /tmp/server ) & server=$!
    until listens $2; do kill -0 $server && sleep 0.1 || return 1; done
    ( $1 1 $words 127.0.0.1 ) && wait $server
}}
"""
SERVE = f"{DAEMON} --socket /tmp/served/socket > /tmp/daemon & until grep -q socket /tmp/daemon; do sleep 0.1; done"


def commands():
    """The daemon first; then each program on both ends, at a port of its own."""
    made = {"daemon": SERVE}
    for number in range(2):
        for program in (each for each, runs in RUNS.items() if number < runs):
            for end in ENDS:
                made[f"{program} {end} {number}"] = f"measure {end} {20000 + len(made)} '{program}'"
    return made


COMMANDS = commands()


class GuestPerftest(unittest.TestCase):
    said = None

    def row(self, name):
        """The numbers of the last row that perftest printed."""
        status, output = self.said[name]
        self.assertEqual(status, 0, f"{name}\n{output}")
        rows = re.findall(r"(?m)^ 2 +(\d+ +[\d.]+ .*)$", output)
        self.assertTrue(rows, f"{name}\n{output}")
        return [float(each) for each in rows[-1].split()]

    def least(self, program, end, value):
        return min(value(self.row(f"{program} {end} {number}")) for number in range(RUNS[program]))

    def ratio(self, program, kind, value):
        rxe, ours = (self.least(program, end, value) for end in ENDS)
        print(f"{program:20} {kind:18} soft-RoCE {rxe:8.2f} us   ours {ours:8.2f} us   ours / soft-RoCE {ours / rxe:5.2f}")
        return ours / rxe

    def test_latencies_beside_soft_RoCE(self):
        for name in LATENCIES:
            with self.subTest(name):
                self.assertLess(self.ratio(f"{name} -n 200", "least", lambda row: row[1]), BAR)
                self.ratio(f"{name} -n 200", "typical", lambda row: row[3])

    def test_rates_beside_soft_RoCE(self):
        for name in RATES:
            with self.subTest(name):
                self.ratio(f"{name} -n 500", "a message", lambda row: 1 / row[3])


if __name__ == "__main__":
    ended, GuestPerftest.said = guest_script.run(
        "rxe", [DAEMON, *(str(each) for each in LIBRARIES.glob("*.so*")), "/usr/bin/timeout",
                *(f"/usr/bin/{each}" for each in (*LATENCIES, *RATES))],
        {name: f"{FUNCTIONS}{command}" for name, command in COMMANDS.items()})
    if ended != 0:
        sys.exit(ended)
    unittest.main()
