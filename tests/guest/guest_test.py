#!/usr/bin/env python3
"""Tests guest.py with QEMU: the ends of programs and guests."""
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest

import uml
from endings import ENDS, HERE, SKIPPED, Endings, planted, run


class GuestTest(Endings, unittest.TestCase):
    def test_threads_and_sanitizers_work(self):
        lines = [f"{shlex.quote(ENDS)} threads"]
        programs = [ENDS]
        for kind in ("address", "thread"):
            program = planted(kind)
            programs.append(program)
            lines += [f"{shlex.quote(program)} nothing", f"! {shlex.quote(program)} {kind}"]
        files = [word for program in programs for word in ("--file", program)]
        ended = self.run_bare(*files, "sh", "-e", "-c", "\n".join(lines))
        self.assertEqual(ended.returncode, 0, ended.stdout + ended.stderr)
        self.assertIn("ERROR: AddressSanitizer: heap-use-after-free", ended.stdout)
        self.assertIn("WARNING: ThreadSanitizer: data race", ended.stdout)


class WithoutQemu(unittest.TestCase):
    def test_guest_optional_is_skipped_with_the_reason(self):
        ended = run(ENDS, "0", PATH="/nonexistent", IRPVERBS_REQUIRE_GUEST="")
        self.assertEqual(ended.returncode, SKIPPED)
        self.assertIn("SKIPPED: no qemu-system-x86_64 on this machine: run tools/bootstrap",
                      ended.stderr)

    def test_guest_required_fails(self):
        ended = run(ENDS, "0", PATH="/nonexistent", IRPVERBS_REQUIRE_GUEST="1")
        self.assertEqual(ended.returncode, 1)
        self.assertIn("FAILED: no qemu-system-x86_64", ended.stderr)

    def test_wrong_usage_is_reported(self):
        self.assertEqual(run().returncode, 2)
        self.assertEqual(run("--keep", "/tmp", ENDS, "0").returncode, 2)
        self.assertIn("SKIPPED", run("--help").stdout.upper())


class UmlWrongUsage(unittest.TestCase):
    def expect(self, words, reason):
        ended = run("--uml", *words)
        self.assertEqual(ended.returncode, 2, ended.stderr)
        self.assertIn(reason, ended.stderr.splitlines()[-1])

    def test_several_processors_are_refused(self):
        self.expect(["--processors", "2", ENDS, "0"], "--uml has one processor")

    def test_sanitizers_are_refused(self):
        for kind in ("address", "thread"):
            self.expect([planted(kind), "nothing"],
                        f"--uml has no room for the {kind} sanitizer of {planted(kind)}")

    def test_missing_kept_folder_is_refused(self):
        self.expect(["--keep", "/nosuch", ENDS, "0"], "there is no folder /nosuch")


class WithoutUml(unittest.TestCase):
    """Runs in a copy of the project's files where nothing is fetched or built."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="guest")
        self.addCleanup(folder.cleanup)
        self.here = pathlib.Path(folder.name) / "tests/guest"
        self.built = pathlib.Path(folder.name) / "build/guest"
        shutil.copytree(HERE, self.here)
        self.built.mkdir(parents=True)
        self.tools = pathlib.Path(folder.name) / "tools"
        self.tools.mkdir()

    def python(self, *words):
        path = f"{os.environ['PATH']}:{self.tools}"
        return subprocess.run([sys.executable, "-B", *words], cwd=self.here, text=True,
                              env=dict(os.environ, IRPVERBS_REQUIRE_GUEST="1", PATH=path),
                              capture_output=True, timeout=500, check=False)

    def add_tools(self):
        """Adds stubs for the build tools, which this machine may not have."""
        for name in uml.TOOLS:
            tool = self.tools / name
            tool.write_text("#!/bin/sh\nexit 1\n")
            tool.chmod(0o755)

    def expect_skip(self, reason):
        ended = self.python("guest.py", "--uml", ENDS, "0")
        self.assertEqual(ended.returncode, SKIPPED)
        self.assertIn(f"SKIPPED: {reason}", ended.stderr)

    def add_source(self):
        (self.built / "linux-source-6.1_1.deb").write_bytes(b"no package")

    def kernel_path(self):
        return pathlib.Path(self.python("-c", "import uml; print(uml.kernel_path())").stdout.strip())

    def test_guest_required_is_skipped_with_the_reason(self):
        self.expect_skip("no kernel source in ")
        self.add_source()
        self.expect_skip("User Mode Linux is not built: run tests/guest/guest.py --build-uml")

    def test_kernel_of_other_sources_is_out_of_date(self):
        self.add_source()
        for changed in (self.here / "uml.config", self.here / "event_module/irpverbs_events.c"):
            before = self.kernel_path()
            before.touch()
            with open(changed, "a", encoding="utf-8") as file:
                file.write("\n")
            self.assertNotEqual(self.kernel_path(), before)
            self.expect_skip("User Mode Linux is out of date: run ")

    def test_build_without_tools_names_their_packages(self):
        ended = self.python("-c", "import uml; uml.TOOLS = ['nosuch']; uml.build()")
        self.assertIn("no nosuch on this machine: run tools/bootstrap uml", ended.stderr)

    def test_failed_build_leaves_nothing(self):
        self.add_source()
        self.add_tools()
        for _ in range(2):
            (self.built / "build-uml-killed").mkdir()
            self.assertEqual(self.python("guest.py", "--build-uml").returncode, 125)
            self.assertFalse(self.kernel_path().exists())
            self.assertEqual(list(self.built.glob("build-uml-*")), [])


if __name__ == "__main__":
    ready = run("--check")
    if ready.returncode != 0:
        sys.stderr.write(ready.stderr)
        sys.exit(ready.returncode)
    unittest.main()
