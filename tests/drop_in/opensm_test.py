#!/usr/bin/env python3
"""OpenSM and osmtest, unmodified: with a fabric of their own process, and as two processes on one fabric."""
import re
import signal
import subprocess
import tempfile
import unittest
from pathlib import Path

from drop_in import TOPOLOGIES, Daemon, environment, run


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
            out = self.start(f"software:{fabric}?unmanaged", "-o").communicate(timeout=300)[0]
            self.assertIn("SUBNET UP", out)
            self.assertNotRegex(out, r"ERR [0-9A-F]{4}:")
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

    def test_higher_priority_gets_the_mastership_and_its_end_returns_it(self):
        daemon = Daemon(self, "software:")
        process = self.start(daemon.host("host2"), "-p", "14")
        self.lines_until(process, "SUBNET UP") # OpenSM waits for it until the other stands by
        own = run("sminfo", "1", hca=daemon.host("host4")).stdout
        self.assertIn("SMINFO_STANDBY", own)
        self.assertIn("SMINFO_MASTER", run("sminfo", "3", hca=daemon.host("host4")).stdout)
        process.terminate()
        process.stdout.read()
        self.assertEqual(process.wait(60), 0)
        for _ in range(3000): # requests, which take their time
            if "sm lid 1 " in run("sminfo", hca=daemon.host("host4")).stdout:
                return
        self.fail("the daemon's manager did not become the master again")

    def osmtest(self, flow, hca="software:"):
        ended = run("osmtest", "-f", flow, "-l", "osmtest.log", "-i", "osmtest.dat", hca=hca, folder=self.folder)
        return "PASS" if ended.returncode == 0 and "PASS" in ended.stdout else (self.folder / "osmtest.log").read_text()

    # The library's manager has no records of VL arbitration and SL mapping (flow q).
    def test_osmtest_passes_flows_against_the_librarys_manager(self):
        for flow in "cvefm": # write the inventory, compare with it, events, many queries, groups
            self.assertEqual(self.osmtest(flow), "PASS", flow)

    def test_service_with_a_key_is_not_deleted_without_it(self):
        self.assertEqual(self.osmtest("c"), "PASS")
        self.assertIn("osmt_delete_service_by_name: ERR 4A18: Remote error = IB_SA_MAD_STATUS_NO_RECORDS", self.osmtest("s"))

    def test_manager_and_clients_are_processes_of_their_own(self):
        daemon = Daemon(self, "software:?unmanaged")
        manager = self.start(daemon.host("host1"))
        self.lines_until(manager, "SUBNET UP")
        for host in ("host1", "host2"):
            self.assertIn("SMINFO_MASTER", run("sminfo", hca=daemon.host(host)).stdout)
        for flow in "cvsefmqat": # also validation, floods, and all together
            self.assertEqual(self.osmtest(flow, daemon.host("host2")), "PASS", flow)
        manager.terminate()
        manager.stdout.read()
        self.assertEqual(manager.wait(60), 0)


if __name__ == "__main__":
    unittest.main()
