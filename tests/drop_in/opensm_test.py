#!/usr/bin/env python3
"""OpenSM, unmodified, as the subnet manager of an unmanaged fabric in its process."""
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from drop_in import TOPOLOGIES, environment, run


class OpenSM(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory(prefix="opensm")
        self.addCleanup(scratch.cleanup)
        self.folder = Path(scratch.name)

    def start(self, hca, *options):
        """OpenSM whose log is its standard output."""
        settings = {"log_file": "stdout", "dump_files_dir": f"{self.folder}/", "force_log_flush": "TRUE",
                    "fsync_high_avail_files": "FALSE", "sweep_interval": "0", "sm_key": "0x0",
                    "partition_config_file": self.folder / "none"}
        config = self.folder / "opensm.conf"
        config.write_text("".join(f"{name} {value}\n" for name, value in settings.items()))
        folders = {name: f"{self.folder}/" for name in ("OSM_TMP_DIR", "OSM_CACHE_DIR")}
        process = subprocess.Popen(["opensm", "-F", config, *options], env=environment(hca, **folders),
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        return process

    def lines_until(self, process, wanted):
        seen = []
        for line in process.stdout:
            seen.append(line)
            if wanted in line:
                return seen
        self.fail(f"no '{wanted}' in:\n{''.join(seen)}")

    def test_one_sweep_brings_the_subnet_up(self):
        for fabric, lids in (("", 7), (TOPOLOGIES / "two_leaves.net", None)):
            out = self.start(f"software:{fabric}?unmanaged", "-o").communicate(timeout=60)[0]
            self.assertIn("SUBNET UP", out)
            known = (self.folder / "guid2lid").read_text()
            if lids is not None:
                self.assertEqual(len(re.findall(r"^0x\w+ 0x\w+ 0x\w+$", known, re.MULTILINE)), lids)

    def test_signals_sweep_again_and_end_it(self):
        process = self.start("software:?unmanaged")
        self.lines_until(process, "SUBNET UP")
        process.send_signal(signal.SIGHUP)
        self.lines_until(process, "SUBNET UP")
        process.terminate()
        self.lines_until(process, "Exiting SM")
        process.stdout.read()
        self.assertEqual(process.wait(60), 0)

    def test_own_manager_of_the_fabric_is_the_master_of_a_second_one(self):
        process = self.start("software:?host=host2")
        self.lines_until(process, "STANDBY")
        process.terminate()
        process.stdout.read()
        self.assertEqual(process.wait(60), 0)

    # The flows a, s, m and q find what the library's manager lacks: service keys in responses, groups with join
    # state 3, and the records of VL arbitration and SL mapping.
    def test_osmtest_passes_flows_against_the_librarys_manager(self):
        for flow in ("c", "v", "f"): # write the inventory, compare with it, many queries
            ended = run("osmtest", "-f", flow, "-l", self.folder / "osmtest.log", "-i", self.folder / "osmtest.dat")
            self.assertEqual(ended.returncode, 0, ended.stdout)
            self.assertIn("PASS", ended.stdout)


if __name__ == "__main__":
    unittest.main()
