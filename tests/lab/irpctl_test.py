#!/usr/bin/env python3
"""irpctl on a host of a lab: queries to OpenSM, and events of a pulled cable."""
import json
import os
import pathlib
import signal
import subprocess
import threading
import unittest

from lab import wait_until
from lab_case import LabCase

HOST = "H0002"
PROGRAM = os.environ["IRPVERBS_IRPCTL"]


class IrpctlTest(LabCase):
    hosts = 20

    def command(self, *words):
        return [PROGRAM, "--json", "--hca", "rdma:", *words]

    def values(self, *words):
        result = self.lab.run(HOST, self.command(*words))
        self.assertEqual(result.returncode, 0, result.stderr)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def test_sa_query_prints_records(self):
        nodes = self.values("sa", "node")
        self.assertEqual(len(nodes), self.hosts + 1)
        self.assertIn(HOST, {each["NodeDescription"] for each in nodes})
        self.assertEqual(len(self.values("sa", "path")), (self.hosts + 1) ** 2)
        self.assertEqual(len(self.values("sa", "node", "--field", "NodeType=Switch")), 1)
        self.assertEqual(self.values("sa", "smi")[0]["SMState"], 3)
        refused = self.lab.run(HOST, self.command("sa", "pkey"))
        self.assertEqual(refused.returncode, 1)
        self.assertIn("--key", refused.stderr)
        self.assertNotEqual(self.values("sa", "pkey", "--key", "1"), [])

    def test_every_record_can_be_queried(self):
        listed = self.lab.run(HOST, self.command("sa")).stdout.splitlines()[1:]
        names = [line.split()[0] for line in listed]
        self.assertEqual(len(names), 20)
        # OpenSM does not have some records, and does not respond to queries for them.
        path = json.loads(self.lab.run(HOST, self.command("sa", "path")).stdout.splitlines()[0])
        needs = {"P_KeyTableRecord": ("--key", "1"),
                 "MultiPathRecord": ("--field", f"SGID={path['SGID']}",
                                     "--field", f"DGID={path['DGID']}")}
        silent = {"RandomFDBRecord", "TraceRecord", "ServiceAssociationRecord"}
        none = {"MulticastFDBRecord", "ServiceRecord", "InformInfoRecord"}
        response_record = {"MultiPathRecord": "PathRecord"}
        for name in names:
            with self.subTest(name):
                asked = self.lab.run(HOST, self.command(
                    "sa", name, *needs.get(name, ()),
                    *(("--timeout", "200") if name in silent else ())))
                self.assertEqual(asked.returncode, 1 if name in silent else 0, asked.stderr)
                self.assertEqual("does not respond" in asked.stderr, name in silent)
                found = [json.loads(line)["record"] for line in asked.stdout.splitlines()]
                self.assertEqual(set(found), set() if name in none | silent
                                 else {response_record.get(name, name)})

    def test_late_responses_do_not_reach_the_next_program(self):
        capture = pathlib.Path(self.lab.folder) / "asked.pcap"
        opensm = self.lab.opensm("H0001").pid()
        os.kill(opensm, signal.SIGSTOP)
        early = self.lab.run(HOST, self.command("sa", "smi", "--timeout", "300"))
        self.assertIn("time", early.stderr)
        with self.lab.start(HOST, self.command("sa", "path", "--pcap", capture),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE) as late:
            self.addCleanup(late.kill)
            header = 24  # of the file; the request follows it
            self.assertTrue(wait_until(
                lambda: capture.exists() and capture.stat().st_size > header, 20))
            os.kill(opensm, signal.SIGCONT)
            paths, said = late.communicate(timeout=300)
        self.assertEqual(late.returncode, 0, said)
        # Their number is not checked, since OpenSM may have been stopped during a sweep.
        self.assertTrue(all("DGID" in json.loads(line) for line in paths.splitlines()), paths)

    def test_paths_are_printed(self):
        paths, = self.values("paths")
        self.assertEqual(len(paths), self.hosts + 1)
        self.assertTrue(all(each["reached"] for each in paths))

    def test_fabric_is_printed(self):
        fabric, = self.values("fabric")
        self.assertEqual((fabric["switches"], fabric["hosts"], fabric["links"]),
                         (1, self.hosts, self.hosts))

    def test_events_are_printed(self):
        with self.lab.start(HOST, [PROGRAM, "--hca", "rdma:", "events", "--subnet", "--for", "20"],
                            stdout=subprocess.PIPE) as client:
            said = []
            reader = threading.Thread(target=lambda: said.extend(iter(client.stdout.readline, "")))
            reader.start()
            self.addCleanup(reader.join)
            self.addCleanup(client.kill)
            self.assertTrue(wait_until(lambda: said, 20))
            pulled = lambda: any("_SERVICE" in each and "H0003 port 1" in each for each in said)
            # Events before the subscription has reached OpenSM are lost, so the cable is pulled again.
            for _ in range(10):
                self.lab.console('Unlink "H0003"[1]')
                if wait_until(pulled, 1):
                    break
                self.lab.console('Relink "H0003"[1]')
            client.kill()
            self.assertTrue(pulled(), said)

    def test_ping_reports_server_and_silence(self):
        """infiniband-diags' server answers; without it ping reports no response."""
        lid = self.values("port")[0]["lid"]
        other = self.values("sa", "node", "--field", "NodeDescription=H0003")[0]["LID"]
        self.assertNotEqual(other, lid)
        ping = self.command("ping", "--vendor", "--lid", str(other), "--count", "3",
                            "--interval", "0", "--timeout", "1000")
        unheard = self.lab.run(HOST, ping)
        self.assertEqual(unheard.returncode, 1)
        self.assertIn(f"LID {other} did not respond", unheard.stderr)
        with self.lab.start("H0003", ["ibping", "-S"], stdout=subprocess.DEVNULL) as server:
            self.addCleanup(server.kill)
            # ibping prints nothing when it is ready.
            self.assertTrue(wait_until(lambda: self.lab.run(HOST, ping).returncode == 0, 20))
            *each, last = self.values(*ping[4:])
            server.kill()
        self.assertEqual([(one["responded"], one["status"]) for one in each], [(True, "0x0000")] * 3)
        self.assertEqual((last["sent"], last["responded"], last["refused"]), (3, 3, 0))

    def test_captures_are_decoded(self):
        """tshark reads captures of umad traffic, with transfers and vendor classes."""
        for least, words in ((1, ["mad", "--lid", "2"]),
                             (3, ["ping", "--count", "3", "--interval", "0"]),
                             (1, ["mad", "--route", "1", "--attribute", "NodeInfo"]),
                             (2, ["mad", "--class", "sa", "--method", "GetTable", "--attribute",
                                  "NodeRecord"])):
            capture = pathlib.Path(self.lab.folder) / "asked.pcap"
            self.values(*words, "--pcap", capture)
            self.assertEqual(tshark(capture, "-Y", "_ws.malformed", "-e", "frame.number"), [])
            methods = [int(each, 16) for each in tshark(capture, "-e", "infiniband.mad.method")]
            self.assertGreaterEqual(sum(each >= 0x80 for each in methods), least, methods)
            self.assertGreaterEqual(sum(each < 0x80 for each in methods), least, methods)


def tshark(capture, *options):
    """tshark's output, one line per packet."""
    read = subprocess.run(["tshark", "-r", capture, "-T", "fields", *options], check=True,
                          text=True, capture_output=True)
    return read.stdout.splitlines()


if __name__ == "__main__":
    unittest.main()
