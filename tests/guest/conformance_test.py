#!/usr/bin/env python3
"""conformance_test.py PROGRAM DEVICE [OPTION...]: the program's conformance suite passes on that device, in a
guest with those options, and each case that it skips is listed here with the reason."""
import re
import sys
import unittest
from fnmatch import fnmatch

import guest_script

CONFORMANCE, DEVICE, *OPTIONS = sys.argv[1:]

REAL_HCA = "the program can't make a real HCA do that; guest.conformance_rxe has both"
# (reason that the case prints, cases that may print it, explanation)
EXPLAINED = {
    "rxe": [
        ("the adapter can't put completions into a queue", "*",
         "completions come from queue pairs only, with their own contents: guest.verbs has some"),
        ("CiRegisterMadAgent returns STATUS_NOT_SUPPORTED", "MadQp.*",
         "umad has QP0 and QP1, and no queue pairs of agents"),
        ("CiRegisterMadAgent returns STATUS_NOT_SUPPORTED", "User.UnmappedKeys_ReturnAccessViolation",
         "the keys belong to an agent's own queue pair"),
        ("CiModifyPort returns STATUS_NOT_SUPPORTED", "ModifyPort.*",
         "the kernel lets programs change IS_SM only, which the cases leave to the subnet manager; "
         "guest.verbs has IS_SM"),
        ("CiModifyCa returns STATUS_NOT_SUPPORTED", "ModifyCa.Flags_ChangeNamedAttributes",
         "the kernel does not let the system image GUID be changed; guest.verbs has the rest"),
        ("CiModifyMr returns STATUS_NOT_SUPPORTED", "*",
         "neither soft-RoCE nor siw changes regions (ibv_rereg_mr fails ENOSYS or EOPNOTSUPP)"),
        ("CiAllocateFrmr returns STATUS_NOT_SUPPORTED", "*",
         "libibverbs has no fast registration"),
        ("CiRegisterPmr returns STATUS_NOT_SUPPORTED", "*", "libibverbs has no physical addresses"),
        ("CiRegisterSmr returns STATUS_NOT_SUPPORTED", "*",
         "libibverbs does not register the pages of another region"),
        ("the HCA has no atomic writes", "Transfer.*",
         "the kernel's driver has none, and hca/rdma does not post them"),
        ("CiAllocateMw returns STATUS_NOT_SUPPORTED", "*",
         "the driver has windows of type 1: soft-RoCE refuses posts that bind those of type 2"),
        ("no memory windows", "AllocateMw.*", "the same"),
        ("CiAllocateXrcd returns STATUS_NOT_SUPPORTED", "*",
         "soft-RoCE has no XRC, and the driver has no XRC domains"),
        ("the HCA has no path migration", "PathMigration.*",
         "the kernel refuses alternate paths of Ethernet"),
        ("CiModifyQp returns STATUS_NOT_SUPPORTED", "ModifyQp.AlternatePath_NeedsTheCapability",
         "the same"),
        ("CiBindMw returns STATUS_NOT_SUPPORTED", "BindMw.*",
         "the provider of soft-RoCE reads the key of a region that there is not"),
        ("the HCA has one port", "PortEvent.OtherPort_CompletesNoWaiter", "soft-RoCE devices have one port"),
    ],
    "siw": [
        ("the adapter can't raise port events", "*", REAL_HCA),
        ("the adapter can't make the HCA fail", "*", REAL_HCA),
        ("CiRegisterMadAgent returns STATUS_NOT_SUPPORTED", "*", "iWARP has no management"),
        ("CiAllocateXrcd returns STATUS_NOT_SUPPORTED", "*", "iWARP has no XRC"),
        ("CiResizeCq returns STATUS_NOT_SUPPORTED", "ResizeCq.Success_ReturnsNewSize",
         "siw does not resize"),
        ("CiCreateQp returns STATUS_NOT_SUPPORTED", "*", "siw has RC only"),
        ("the HCA resizes no shared receive queue", "ModifySrq.*", "siw does not resize"),
        ("CiQuerySrq returns STATUS_NOT_SUPPORTED", "*", "siw has no query of shared receive queues"),
        ("CiCreateAv returns STATUS_NOT_SUPPORTED", "*", "siw has no datagrams"),
        ("CiModifyQp returns STATUS_NOT_SUPPORTED", "*",
         "iWARP connects queue pairs by its own connection management"),
        ("a verb returns STATUS_NOT_SUPPORTED", "User.UserData_AcceptedByEveryVerb", "CiResizeCq does"),
    ],
}


def is_explained(case, reason):
    kind = DEVICE.rstrip("0123456789")
    known = EXPLAINED["rxe"] + (EXPLAINED["siw"] if kind == "siw" else [])
    return any(reason == said and fnmatch(case, cases) for said, cases, _ in known)


class ConformanceTest(unittest.TestCase):
    status, output = 0, ""

    def test_suite_passes(self):
        self.assertEqual(self.status, 0, self.output)
        passed, failed = re.search(r"(\d+) passed, \d+ skipped, (\d+) failed, on rdma:",
                                   self.output).groups()
        self.assertGreater(int(passed), 50)
        self.assertEqual(int(failed), 0)

    def test_each_skip_is_explained(self):
        skips = re.findall(r"^skip +(\S+)/real: (.*)", self.output, re.M)
        self.assertEqual(len(skips), int(re.search(r"(\d+) skipped", self.output)[1]))
        self.assertEqual([skip for skip in skips if not is_explained(*skip)], [])


if __name__ == "__main__":
    ended, said = guest_script.run(
        DEVICE.rstrip("0123456789"), [CONFORMANCE],
        {"suite": f"{CONFORMANCE} --hca rdma:{DEVICE} --require-hca --seeds 4"}, OPTIONS)
    if ended != 0:
        sys.exit(ended)
    ConformanceTest.status, ConformanceTest.output = said["suite"]
    unittest.main(argv=sys.argv[:1])
