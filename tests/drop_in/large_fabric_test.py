#!/usr/bin/env python3
"""infiniband-diags, OpenSM and osmtest, unmodified, on the fabrics of a daemon with 1,008 and 40 hosts."""
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from drop_in import Daemon, environment, run
from records_test import RECORDS, compare_records

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lab"))
from fabric import fabric # pylint: disable=wrong-import-position


class LargeFabric(unittest.TestCase):
    def serve(self, hosts, options=""):
        """A fat tree. `ends` are the ends of its cables, from the topology file."""
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        file = self.folder / "fabric.net"
        file.write_text(fabric(hosts, down=36, spines=12))
        self.nodes, self.ends = set(), set()
        for line in file.read_text().splitlines():
            if node := re.match(r'(?:Hca|Switch) \d+ "(\w+)"', line):
                name = node[1]
                self.nodes.add(name)
            elif cable := re.match(r'\[(\d+)\]\t"(\w+)"\[(\d+)\]', line):
                self.ends.add((name, cable[1], cable[2], cable[3]))
        self.hca = Daemon(self, f"software:{file}{options}").host("H0001")

    def output(self, *words):
        ended = run(*words, hca=self.hca, folder=self.folder)
        self.assertEqual(ended.returncode, 0, ended.stdout[-3000:])
        return ended.stdout

    def start_opensm(self):
        """OpenSM, when the subnet is up."""
        folders = {name: f"{self.folder}/" for name in ("OSM_TMP_DIR", "OSM_CACHE_DIR")}
        process = subprocess.Popen(["opensm", "-f", "stdout"], env=environment(self.hca, **folders), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        for each in (process.stdout.close, process.wait, process.kill): # in reverse order
            self.addCleanup(each)
        for line in process.stdout:
            if "SUBNET UP" in line: return
        self.fail("OpenSM ended")

    def test_tools_find_a_thousand_hosts(self):
        self.serve(28 * 36) # no port is without a cable
        self.check_tools()

    def test_tools_find_a_thousand_hosts_that_OpenSM_manages(self):
        self.serve(28 * 36, "?unmanaged")
        self.start_opensm()
        self.check_tools()
        counts = {name: compare_records(self, self.hca, name) for name in RECORDS if name != "PR"} # 1,098,304 paths
        self.assertEqual({name: counts[name] for name in ("NR", "PIR", "LR", "SWIR")},
                         {"NR": 1048, "PIR": len(self.ends) + 40, "LR": len(self.ends), "SWIR": 40})

    def test_paths_of_all_ports_arrive_by_many_transfers_at_once(self):
        """irpctl asks for the paths of several ports at once. OpenSM repeats a window that is not acknowledged three times, each 2 s."""
        self.serve(360, "?unmanaged")
        self.start_opensm()
        ended = subprocess.run([os.environ["IRPVERBS_IRPCTL"], "--hca", self.hca, "sa", "path"], capture_output=True, text=True, check=False)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))
        ports = 360 + sum(name.startswith(("L", "S")) for name in self.nodes) # and those of the switches
        self.assertEqual(ended.stdout.count("\nDGID: "), ports * ports)

    def check_tools(self):
        self.assertEqual(len(self.nodes), 1048)
        seen = re.findall(r"^(?:CA|SW) +\d+ +(\d+) 0x\w+ 4x QDR - (?:CA|SW) +\d+ +(\d+) 0x\w+ \( '(\w+)' - '(\w+)' \)$",
                          self.output("ibnetdiscover", "-p"), re.MULTILINE)
        self.assertEqual({(name, port, peer, at) for port, at, name, peer in seen}, self.ends)
        seen = re.findall(r'^0x\w+ " *(\w+)" +\d+ +(\d+)\[  \] ==\( 4X +10.0 Gbps Active/  LinkUp\)==> '
                          r' 0x\w+ +\d+ +(\d+)\[  \] "(\w+)" \( \)$', self.output("iblinkinfo", "-l"), re.MULTILINE)
        self.assertEqual({(name, port, peer, at) for name, port, at, peer in seen}, self.ends)
        self.assertIn("## Summary: 1048 nodes checked, 0 bad nodes found\n"
                      f"##          {len(self.ends)} ports checked, 0 ports have errors", self.output("ibqueryerrors"))
        self.assertEqual(set(re.findall(r"NodeDescription\.+(\w+)", self.output("saquery", "NR"))), self.nodes)
        self.assertEqual(self.output("saquery", "LR").count("LinkRecord dump"), len(self.ends))
        self.assertEqual(self.output("saquery", "PIR").count("PortInfoRecord dump"), len(self.ends) + 40) # ports 0
        self.assertEqual(len(re.findall(r"^\[\d+\] -> ", self.output("ibtracert", "1", "1008"), re.MULTILINE)), 4)

    # Each path is one query. The records of all paths of more than 360 ports exceed one response of the library's manager.
    def test_osmtest_passes_with_forty_hosts(self):
        self.serve(40)
        for flow in "cv": # write the inventory, compare all records with it
            self.assertIn("PASS", self.output("osmtest", "-f", flow, "-l", "osmtest.log", "-i", "osmtest.dat"))


if __name__ == "__main__":
    unittest.main()
