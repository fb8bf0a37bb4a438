#!/usr/bin/env python3
"""saquery and irpctl sa read the same records."""
import json
import os
import re
import subprocess
import unittest

from drop_in import Daemon, run

# saquery's name of a record, irpctl's, and the fields that at least have the same name in both.
RECORDS = {
    "NR": ("NodeRecord", {"lid", "numports", "nodeguid", "portguid", "partitioncap", "vendorid", "nodedescription"}),
    "PIR": ("PortInfoRecord", {"endportlid", "portnum", "gidprefix", "lid", "diagcode", "lmc", "guidcap", "subnettimeout"}),
    "LR": ("LinkRecord", {"fromlid", "fromport", "toport", "tolid"}),
    "PR": ("PathRecord", {"dgid", "sgid", "dlid", "slid", "tclass", "sl", "preference"}),
    "SWIR": ("SwitchInfoRecord", {"lid", "linearfdbcap", "linearfdbtop", "multicastfdbcap", "partitionenforcementcap"}),
    "GIR": ("GUIDInfoRecord", {"lid"}),
    "SMIR": ("SMInfoRecord", {"lid", "guid", "smkey", "priority", "smstate"}),
    "LFTR": ("LinearFDBRecord", {"lid"}),
    "MCMR": ("MCMemberRecord", {"mgid", "portgid", "qkey", "mlid", "pkey", "tclass", "sl", "scope", "joinstate"}),
}
DIFFERENT = {"mtu", "rate", # with their selectors
             "mkey", # hidden
             "actcount", # of that moment
             "nodetype", "linkwidthenabled", "linkwidthsupported", "linkwidthactive", "linkspeedsupported", "linkspeedactive",
             "linkspeedenabled", "linkspeedextactive", "neighbormtu", "mtucap", "vlcap"} # as text


def comparable(name, value):
    """A field, with its name and value in one form."""
    name = re.sub("[^a-z0-9]", "", name.lower())
    return name, int(value, 0) if isinstance(value, str) and re.fullmatch(r"0x[\dA-Fa-f]+|\d+", value) else value


def of_saquery(text):
    """The records: a heading and lines with a name, dots and a value."""
    parts = re.split(r"(?m)^\w+ ?Record dump:.*$", text)[1:]
    return [dict(comparable(*field) for field in re.findall(r"(?m)^\s+(\w[\w -]*?):?\.\.+(.*)$", part)) for part in parts]


def of_irpctl(text):
    return [dict(comparable(*field) for field in json.loads(line).items()) for line in text.splitlines()]


def compare_records(test, hca, name):
    """Both programs read all records of that kind. Returns how many."""
    record, least = RECORDS[name]
    theirs = of_saquery(run("saquery", name, hca=hca).stdout)
    ours = of_irpctl(subprocess.run([os.environ["IRPVERBS_IRPCTL"], "--hca", hca, "--json", "sa", record], text=True,
                                    stdout=subprocess.PIPE, check=True).stdout)
    test.assertGreater(len(ours), 0)
    common = set(ours[0]) & set(theirs[0]) - DIFFERENT
    test.assertLessEqual(least, common)
    test.assertEqual(*(sorted(tuple((name, each[name]) for name in sorted(common)) for each in all_of) for all_of in (ours, theirs)))
    return len(ours)


class Records(unittest.TestCase):
    maxDiff = None

    def test_saquery_reads_what_irpctl_reads(self):
        host = Daemon(self).host("host1")
        for name in RECORDS:
            with self.subTest(name):
                compare_records(self, host, name)


if __name__ == "__main__":
    unittest.main()
