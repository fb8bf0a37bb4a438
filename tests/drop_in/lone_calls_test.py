#!/usr/bin/env python3
"""Each function of the libraries as the only call of a program that forks after it: parent and child end by exit(3), also by
_exit(2), and what needs no device starts no thread."""
import os
import re
import subprocess
import unittest

from drop_in import LIBRARIES, Daemon, run

KINDS = "zeros", "descriptor", "names"
# These wait for an event, as the arguments say.
WAITS = {"ibv_get_cq_event", "ibv_get_async_event", "rselect"}
NO_DAEMON = "user:/nowhere/socket"


def functions(library):
    """The functions of default versions: the others read nothing."""
    listed = subprocess.run(["nm", "-D", "--defined-only", LIBRARIES / library], capture_output=True, text=True, check=True).stdout
    return sorted({name.split("@@")[0] for _, kind, name in map(str.split, listed.splitlines()) if kind in "TW" and "@@" in name} - WAITS)


class LoneCalls(unittest.TestCase):
    def results(self, library, kind, hca):
        """The result of each function. Faults are left out: no library takes any pointer."""
        try:
            ended = run(os.environ["IRPVERBS_LONE_CALLS"], library, kind, *functions(library), hca=hca)
        except subprocess.TimeoutExpired as late:
            self.fail(f"the function after these does not end: {late.output}")
        self.assertEqual(ended.returncode, 0, ended.stdout)
        every = re.findall(r"(?m)^(\w+) (faults|lost|\d+)$", ended.stdout)
        self.assertEqual([name for name, _ in every], functions(library))
        return {name: result for name, result in every if result != "faults"}

    def test_without_devices_nothing_starts_and_every_fork_ends(self):
        for hca in (None, NO_DAEMON):
            for library, called in (("libibumad.so.3", 20), ("libibverbs.so.1", 30), ("librdmacm.so.1", 15)):
                if not (LIBRARIES / library).exists():
                    continue
                for kind in KINDS:
                    with self.subTest((hca, library, kind)):
                        results = self.results(library, kind, hca)
                        self.assertEqual({name: result for name, result in results.items() if result != "1"}, {})
                        self.assertGreater(len(results), called)

    @unittest.skipUnless("IRPVERBS_DAEMON" in os.environ, "a build without the daemon")
    def test_with_devices_every_fork_ends(self):
        daemon = Daemon(self)
        for hca in ("software:", daemon.host("host1")):
            for library in ("libibumad.so.3", "libibverbs.so.1", "librdmacm.so.1"):
                if (LIBRARIES / library).exists():
                    with self.subTest((hca, library)):
                        self.assertNotIn("lost", self.results(library, "zeros", hca).values())


if __name__ == "__main__":
    unittest.main()
