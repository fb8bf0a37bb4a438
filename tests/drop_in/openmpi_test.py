#!/usr/bin/env python3
"""Open MPI, unmodified, over UCX: each rank on another host of one daemon's fabric."""
import os
import unittest
from pathlib import Path

from two_processes import TwoProcesses

PYTHON = "/usr/bin/python3" # the one that mpi4py's package is built for
EXCHANGE = str(Path(__file__).resolve().parent / "mpi_exchange.py")
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "--mca", "pml", "ucx")
ON_ITS_HOST = f'exec {os.environ["IRPVERBS_IRPCTL"]} run --hosts host$((OMPI_COMM_WORLD_RANK + 1)) -- "$@"'


class Ranks(TwoProcesses):
    def mpirun(self, transport, ranks, *words):
        """The output of a Python program whose ranks have this transport alone."""
        out = self.output(self.start("host1", *MPIRUN, "-np", str(ranks), "sh", "-c", ON_ITS_HOST, "sh", PYTHON, *words,
                                     UCX_TLS=f"{transport},self"))
        self.assertNotRegex(out, "ERROR|WARN|not match")
        return out

    def exchange(self, ranks):
        for transport in ("rc_v", "ud_v"):
            with self.subTest(transport=transport):
                self.assertEqual(self.mpirun(transport, ranks, EXCHANGE), f"{ranks} ranks have the right bytes\n")


class OpenMpi(Ranks):
    def test_ping_pong_between_two_hosts(self):
        for transport in ("rc_v", "ud_v"):
            for size in ("1", "1000000"):
                with self.subTest(transport=transport, size=size):
                    out = self.mpirun(transport, 2, "-m", "mpi4py.bench", "ringtest", "-l", "10", "-n", size)
                    self.assertRegex(out, rf"^time for 10 loops = .* \(2 processes, {size} bytes\)\n$")

    def test_ranks_on_four_hosts_exchange_the_right_bytes(self):
        self.exchange(4)


class Faults(Ranks):
    fabric = "software:?loss=0.01?duplication=0.01?reordering=0.01"

    def test_ranks_on_two_hosts_exchange_the_right_bytes(self):
        self.exchange(2)
        self.assertGreater(self.counter(6, 255, "PortRcvErrors"), 0)


if __name__ == "__main__":
    unittest.main()
