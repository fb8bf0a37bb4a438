#!/usr/bin/env python3
"""Times perftest with 2 bytes over irpctl run, beside ucx_perftest over shared memory. Started by hand (docs/speed.md):

    chrt -r 1 tests/drop_in/transfers_speed.py build/release
"""
import os
import re
import socket
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

if len(sys.argv) != 2:
    sys.exit(f"usage: {sys.argv[0]} BUILD")
BUILD = Path(sys.argv[1]).resolve()
IRPCTL = BUILD / "samples/irpctl/irpctl"
ROUNDS = 5 # alternating; medians count
# The same kind of transfer by UCX. ib_write_lat is left out: its ends poll their memory and never yield, so that on two
# processors the daemon waits for the end of their time slices.
PERFTEST = {
    "ib_send_lat -n 5000": "tag_lat",
    "ib_send_bw -n 20000": "tag_bw",
    "ib_write_bw -n 20000": "ucp_put_bw",
}
SHARED_MEMORY = ("posix", "sysv")
SERVER_LISTENS = "for i in $(seq 1000); do grep -q ':%04X .* 0A ' /proc/net/tcp /proc/net/tcp6 && break; sleep 0.01; done"


def free_port():
    with socket.socket() as any_port:
        any_port.bind(("127.0.0.1", 0))
        return any_port.getsockname()[1]


def both(server, client, port):
    """A script with a server, and its client when the server listens."""
    return f"timeout 20 {server} -p {port} > /dev/null & {SERVER_LISTENS % port}; timeout 20 {client} -p {port} 127.0.0.1; wait"


def output(command, **more):
    ended = subprocess.run(command, env={**os.environ, "LC_ALL": "C", **more}, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                           timeout=300, check=False)
    if ended.returncode != 0:
        sys.exit(f"{command}: status {ended.returncode}\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def microseconds(out, words):
    """The time of a message in the last row of perftest: the typical latency, or the rate's reciprocal."""
    row = re.findall(r"(?m)^ *2 +\d+ +(.*)$", out)[-1].split()
    return float(row[2]) if "_lat" in words else 1 / float(row[-1])


def microseconds_of_ucx(out, test):
    """The average of the last row, of all messages: the latency, or the rate's reciprocal."""
    row = re.findall(r"(?m)^Final: +\d+ +(.*)$", out)[-1].split()
    return float(row[1]) if "_lat" in test else 1e6 / float(row[-1])


def ours(words, socket_path):
    ends = (f"{IRPCTL} --hca 'user:{socket_path}?host={host}' run -- {words} -s 2" for host in ("host1", "host2"))
    return microseconds(output(["sh", "-c", both(*ends, free_port())]), words)


def shared_memory(test, transport):
    program = f"ucx_perftest -t {test} -s 2 -n 300000 -w 10000"
    script = both(program, program, free_port())
    return microseconds_of_ucx(output(["sh", "-c", script], UCX_TLS=f"{transport},self", UCX_LOG_LEVEL="error"), test)


def show(words, kind, measured, first):
    middle = statistics.median(measured)
    print(f"{words:24} {kind:22} {middle:9.3f} us ({min(measured):.3f} to {max(measured):.3f}) {first / middle:7.2f}", flush=True)


def compare(socket_path):
    for words, test in PERFTEST.items():
        times = {kind: [] for kind in ("irpctl run", *SHARED_MEMORY)}
        for _ in range(ROUNDS):
            times["irpctl run"].append(ours(words, socket_path))
            for transport in SHARED_MEMORY:
                times[transport].append(shared_memory(test, transport))
        for kind, measured in times.items():
            show(words, kind, measured, statistics.median(times["irpctl run"]))
    print("load average:", *os.getloadavg())


def main():
    with tempfile.TemporaryDirectory() as folder:
        socket_path = f"{folder}/served/socket"
        command = [BUILD / "samples/irpverbsd/irpverbsd", "--socket", socket_path]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as daemon:
            daemon.stdout.readline()
            try:
                compare(socket_path)
            finally:
                daemon.terminate()


if __name__ == "__main__":
    main()
