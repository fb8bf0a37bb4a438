#!/usr/bin/env python3
"""The tools of infiniband-diags, unmodified, on a fabric inside each: status and output, byte for byte.

DROP_IN_WRITE_GOLDEN=1 writes the files anew; review the differences."""
import os
import re
import tempfile
import unittest
from pathlib import Path

from drop_in import TOPOLOGIES, run

GOLDEN = Path(__file__).resolve().parent / "golden"

# Name of the file: the command; its exit status, if it is not 0. LIDs of the built-in fabric: host1 has 1 and 2,
# host2 to host4 have 3 to 5, switch1 has 6, switch2 has 7.
COMMANDS = {
    "ibstat": "ibstat",
    "ibstat-names": "ibstat -l",
    "ibstat-port": "ibstat irpverbs0 2",
    "ibstat-guids": "ibstat -p",
    "ibstat-unknown": ("ibstat mlx5_0", 255),
    "ibstatus": ("ibstatus", 255),
    "ibaddr": "ibaddr",
    "ibaddr-far": "ibaddr -D 0,1,7,1",
    "ibnetdiscover": "ibnetdiscover",
    "ibnetdiscover-ports": "ibnetdiscover -p",
    "ibnetdiscover-second-port": "ibnetdiscover -P 2",
    "ibhosts": "ibhosts",
    "ibswitches": "ibswitches",
    "iblinkinfo": "iblinkinfo",
    "iblinkinfo-switches": "iblinkinfo --switches-only -l",
    "ibqueryerrors": "ibqueryerrors --details",
    "ibtracert": "ibtracert 1 5",
    "ibtracert-guid": "ibtracert -G 0x0200000000000101 0x0200000000000301",
    "ibtracert-nowhere": ("ibtracert 1 99", 255),
    "ibroute": "ibroute 6",
    "ibroute-multicast": "ibroute -M 6",
    "ibroute-of-a-host": ("ibroute 3", 255),
    "smpquery-nodedesc": "smpquery nodedesc 5",
    "smpquery-nodeinfo": "smpquery nodeinfo 1",
    "smpquery-nodeinfo-route": "smpquery -D nodeinfo 0,1,7,1",
    "smpquery-portinfo": "smpquery portinfo 3 1",
    "smpquery-switchinfo": "smpquery switchinfo 7",
    "smpquery-pkeys": "smpquery pkeys 4",
    "smpquery-sl2vl": "smpquery sl2vl 6 1",
    "smpquery-vlarb": "smpquery vlarb 3",
    "smpquery-guidinfo": "smpquery guidinfo 3",
    "smpquery-nowhere": ("smpquery nodeinfo -t 20 99", 255),
    "smpdump": "smpdump 1 0x11",
    "smpdump-route": "smpdump -D 0,1 0x10",
    "sminfo": "sminfo",
    "sminfo-of-a-host": "sminfo 3",
    "perfquery": "perfquery 3 1",
    "perfquery-extended": "perfquery -x 3 1",
    "perfquery-all-ports": "perfquery -a 6",
    "perfquery-loop": "perfquery -l 6",
    "perfquery-reset": "perfquery -R 3 1",
    "ibportstate": "ibportstate 6 7 query",
    "ibportstate-peer": "ibportstate 6 1 query",
    "ibportstate-off": "ibportstate 7 1 disable",
    "ibportstate-reset": "ibportstate 7 1 reset",
    "vendstat": ("vendstat -N 6", 255),
    "saquery-nodes": "saquery NR",
    "saquery-ports": "saquery PIR 3",
    "saquery-paths": "saquery PR --src-to-dst 1:5",
    "saquery-links": "saquery LR",
    "saquery-services": "saquery SR",
    "saquery-groups": "saquery MCMR",
    "saquery-members": "saquery -m",
    "saquery-switches": "saquery SWIR",
    "saquery-linear": "saquery LFTR 6",
    "saquery-multicast": "saquery MFTR 6",
    "saquery-guids": "saquery GIR 3",
    "saquery-subscriptions": "saquery IIR",
    "saquery-managers": "saquery SMIR",
    "saquery-manager-ports": "saquery -s",
    "saquery-class": "saquery -c",
    "saquery-names": "saquery --list",
    "saquery-lid": "saquery -L host3",
    "saquery-partitions": "saquery --smkey 1 PKTR 3",
    "saquery-partitions-untrusted": ("saquery PKTR 3", 5),
    "saquery-lanes": ("saquery SL2VL 3", 5),
    "saquery-arbitration": ("saquery VLAR 3", 5),
}

# Parts of an output that differ from run to run.
RULES = [
    (r"generated on .*", "generated on DATE"),
    (r"\[\d+\]( \w+:)", r"[PID]\1"),
    # libibmad waits as long for the message as that waits for a response: either may end first.
    (r"ibwarn: .*: recv failed: Connection timed out\n", ""),
    (r"activity count \d+", "activity count N"),
    (r"(ActCount\.+)\d+", r"\1N"),
]


def stable(text):
    for what, instead in RULES:
        text = re.sub(what, instead, text)
    return text


class Toolbox(unittest.TestCase):
    maxDiff = None

    def check(self, name, command, status=0):
        ended = run(*command.split())
        seen = stable(ended.stdout)
        file = GOLDEN / f"{name}.txt"
        if os.environ.get("DROP_IN_WRITE_GOLDEN"):
            GOLDEN.mkdir(exist_ok=True)
            file.write_text(seen)
        self.assertEqual(ended.returncode, status, seen)
        self.assertEqual(seen, file.read_text())

    def test_each_command_prints_its_golden_output(self):
        for name, command in COMMANDS.items():
            with self.subTest(name):
                self.check(name, *((command,) if isinstance(command, str) else command))

    def test_every_golden_file_has_its_command(self):
        self.assertEqual({file.stem for file in GOLDEN.glob("*.txt")}, set(COMMANDS))

    def test_discovered_fabric_is_the_same_fabric_when_it_is_read_back(self):
        for fabric in ("software:", f"software:{TOPOLOGIES / 'two_leaves.net'}"):
            first = run("ibnetdiscover", hca=fabric)
            with tempfile.NamedTemporaryFile("w", suffix=".ibnetdiscover") as file:
                file.write(first.stdout)
                file.flush()
                host = re.findall(r'^Ca.* "(\S+)"$', first.stdout, re.MULTILINE)[-1]
                second = run("ibnetdiscover", hca=f"software:{file.name}?host={host}")
                self.assertEqual(stable(first.stdout), stable(second.stdout))

    def test_tools_that_read_a_stored_discovery_find_the_same_fabric(self):
        with tempfile.TemporaryDirectory() as folder:
            here = lambda *words: run(*words, folder=folder)
            cables = "".join(line for line in here("ibnetdiscover", "--cache", "stored").stdout.splitlines(True) if not line.startswith("#"))
            self.assertTrue(here("ibnetdiscover", "--load-cache", "stored").stdout.endswith(cables))
            self.assertEqual((here("ibnetdiscover", "--diff", "stored").stdout, here("iblinkinfo", "--diff", "stored").stdout), ("", ""))
            self.assertEqual(here("ibcacheedit", "--switchguid", "0x0200000000000500:0x777", "stored", "edited").returncode, 0)
            self.assertIn("S-0000000000000777", here("ibnetdiscover", "--load-cache", "edited").stdout)
            Path(folder, "tables").write_text(here("dump_lfts").stdout)
            self.assertEqual(here("check_lft_balance", "-l", "tables", "-i", "stored").returncode, 0)

    def test_program_on_another_host_starts_there(self):
        self.assertIn("Base lid: 4", run("ibstat", hca="software:?host=host3").stdout)
        self.assertIn("from node 0200000000000300", run("ibnetdiscover", hca="software:?host=host3").stdout)

    def test_program_on_two_hosts_sees_both(self):
        self.assertEqual(run("ibstat", "-l", hca="software:?host=host3,host2").stdout, "irpverbs0\nirpverbs1\n")


if __name__ == "__main__":
    unittest.main()
