"""Proves that tools/check-tidy can fail: each rule is broken once in a tree of its own."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools/check-tidy"
MARK = "TO" + "DO"  # spelled so that this file passes its own check


class Tidy(unittest.TestCase):
    def check(self, files):
        """Runs the check over a tree of `files`; returns its exit status and output."""
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"LICENSE": "BSD 2-Clause License", **files}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, CHECK, "--root", folder],
                                 capture_output=True, text=True)
            return run.returncode, run.stdout + run.stderr

    def rejects(self, name, text, *expected, others=None):
        status, output = self.check({name: text, **(others or {})})
        self.assertEqual(status, 1, output)
        for words in expected:
            self.assertIn(words, output)

    def test_good_tree_passes(self):
        status, output = self.check({
            "irp/src/a.cpp": '// sleep(1) in a comment\nauto s = "rand()"; int n = 1\'000;\n'
                             "auto t = machine.time(); long time() const; bool rand(int);\n",
            "docs/a.md": "[b](b.md#part) [w](https://example.org)\n```\n[x](gone.md)\n```\n",
            "docs/b.md": ""})
        self.assertEqual(status, 0, output)

    def test_banned_call_is_reported(self):
        for rule, call in {"sleep": "std::this_thread::sleep_for(1s);", "mutex": "std::mutex m;",
                           "clock": "auto t = std::chrono::steady_clock::now();",
                           "random": "int r = rand();",
                           "thread-id": "auto t = std::this_thread::get_id();"}.items():
            with self.subTest(rule):
                self.rejects("tests/irp/a_test.cpp", "\n" + call, f"a_test.cpp:2: {rule}")
        for rule, call in {"sleep": "usleep(5);", "clock": "long t = time(nullptr);",
                           "random": "std::random_device d;"}.items():
            with self.subTest(call):
                self.rejects("irp/src/a.cpp", call, f"a.cpp:1: {rule}")

    def test_exception_without_reason_or_use_is_reported(self):
        code = {"irp/src/a.cpp": "std::mutex m;"}
        status, output = self.check({**code, "tools/tidy-allow.txt": "mutex irp/src/a.cpp # why\n"})
        self.assertEqual(status, 0, output)
        self.rejects("tools/tidy-allow.txt", "mutex irp/src/a.cpp\n", "expected 'rule", others=code)
        self.rejects("tools/tidy-allow.txt", "clock irp/src/a.cpp # why\n",
                     "unused", "a.cpp:1: mutex", others=code)

    def test_excerpt_not_in_its_file_is_reported(self):
        good = "<!-- excerpt: samples/a.c -->\n```c\nint a;\n```\n"
        code = {"samples/a.c": "int a;\nint b;\n"}
        self.assertEqual(self.check({"docs/a.md": good, **code})[0], 0)
        self.rejects("docs/a.md", good.replace("int a", "int c"), "a.md:1: excerpt: samples/a.c",
                     others=code)
        self.rejects("docs/a.md", good, "excerpt: samples/a.c has no such lines")

    def test_long_line_is_reported(self):
        self.rejects("irp/src/a.cpp", "\n" + "x" * 101, "a.cpp:2: line-length: 101 columns")

    def test_long_file_is_reported(self):
        self.rejects("irp/src/a.hpp", "\n" * 601, "file-length: 601 lines")

    def test_leftover_is_reported(self):
        self.rejects("irp/src/a.cpp", f"// {MARK}: later\n", "a.cpp:1: leftover")

    def test_broken_link_is_reported(self):
        self.rejects("README.md", "\n[a](docs/gone.md)\n", "README.md:2: link: 'docs/gone.md'")

    def test_missing_licence_is_reported(self):
        self.rejects("LICENSE", "All rights reserved", "licence")

    def test_c_function_without_wrapper_is_reported(self):
        header = ('#define X(a) \\\n  CiNot(a)\nextern "C" {\nstruct s { int (*CiField)(void); };\n'
                  "typedef void (*CiCallback)(int);\nstatic inline int CiInline(void) { return 1; }\n"
                  "NTSTATUS CiQueryPort(IB_CA *ca,\n    ULONG port) noexcept;\nVOID CiCloseCa(void);\n}\n")
        wrappers = "template <class T> auto query_port(T token);\nauto close_ca(int);\n"
        status, output = self.check({"ci/include/ci/ci.h": header, "ci/include/ci/async.hpp": wrappers})
        self.assertEqual(status, 0, output)
        split = {"ci/include/ci/async.hpp": "#include <ci/port.hpp>\nauto close_ca(int);\n",
                 "ci/include/ci/port.hpp": "#include <ci/async.hpp>\nauto query_port(int);\n"}
        status, output = self.check({"ci/include/ci/ci.h": header, **split})
        self.assertEqual(status, 0, output)
        self.rejects("ci/include/ci/ci.h", header, "CiQueryPort has no wrapper query_port",
                     "1 findings",
                     others={**split, "ci/include/ci/async.hpp": "auto close_ca(int);\n"})
        self.rejects("ci/include/ci/ci.h", header, "CiCloseCa has no wrapper close_ca", "1 findings",
                     others={"ci/include/ci/async.hpp": "auto query_port(int); // close_ca(int)\n"})
        self.rejects("saa/include/saa/ibmf_saa.h", "int ibmf_sa_session_open(void);\n",
                     "ibmf_sa_session_open has no wrapper session_open")


if __name__ == "__main__":
    unittest.main()
