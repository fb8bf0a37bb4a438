"""Proves that tools/check-rules can fail: a rule without documentation, without a test, or listed twice."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools/check-rules"
RULES = '#define C4 CODE\n#define SAME "what was " "before"\n// X(No, 1, 2, "comment", "")\n' \
        'X(First, C4, 0x10, "a, b (and c) " "happen", SAME)\nX(Second, OTHER, 1, "\\"quoted\\"", "")\n'
TESTS = "TEST(First, Broken_IsReported) {}\nTEST(First, Kept_IsNotReported) {}\n" \
        "TEST_F(Second, Broken_IsReported) {}\nTEST_F(Second,\n  Kept_IsNotReported) {}\n"
PLANTS = 'if (planted("First")) return;\nconst misplaced level("Second", 1);\n'
EMPTY = "# Rules\n<!-- rules: tools/check-rules --write -->\n<!-- end of rules -->\nafter\n"


class Rules(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.put("low/src/verify/rules.def", RULES)
        self.put("tests/low/rules_test.cpp", TESTS)
        self.put("tests/canary/planted/low.cpp", PLANTS)
        self.put("docs/verifier.md", EMPTY)
        self.assertEqual(self.check("--write"), (0, "\n"))

    def put(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def check(self, *words):
        run = subprocess.run([sys.executable, CHECK, "--root", self.root, *words],
                             capture_output=True, text=True)
        return run.returncode, run.stdout + run.stderr

    def rejects(self, *words):
        status, output = self.check()
        self.assertEqual(status, 1, output)
        for each in words:
            self.assertIn(each, output)

    def test_written_document_passes_and_has_the_rules(self):
        self.assertEqual(self.check()[0], 0)
        text = (self.root / "docs/verifier.md").read_text()
        self.assertIn("| `First` | `CODE` | 0x10 | a, b (and c) happen | rules_test.cpp | what was before |\n", text)
        self.assertIn('| `Second` | `OTHER` | 1 | "quoted" | rules_test.cpp |  |\n', text)
        self.assertTrue(text.endswith("after\n"))
        self.assertNotIn("comment", text)

    def test_rule_without_documentation_is_reported(self):
        self.put("docs/verifier.md", EMPTY)
        self.rejects("docs/verifier.md: is out of date")

    def test_rule_without_test_is_reported(self):
        self.put("tests/low/rules_test.cpp", TESTS.replace("First, Kept", "Other, Kept"))
        self.rejects("First: tests/low has no TEST(First, Kept_IsNotReported)")

    def test_rule_without_planted_bug_is_reported(self):
        self.put("tests/canary/planted/low.cpp", PLANTS.replace("Second", "Other"))
        self.rejects("Second: tests/canary/planted has no bug that breaks it")

    def test_rule_listed_twice_is_reported(self):
        self.put("low/src/verify/rules.def", RULES + 'X(First, C4, 1, "again", "")\n')
        self.rejects("First: stands there twice")

    def test_no_rule_fails(self):
        self.put("low/src/verify/rules.def", "")
        self.rejects("no rule was found")


if __name__ == "__main__":
    unittest.main()
