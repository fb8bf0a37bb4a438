"""Proves that tools/check-prose can fail: each opening and word, in comments, documents and messages."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools/check-prose"
OPENINGS = ("What", "Who", "Whoever", "Whose", "Those", "Of")
WORDS = ("to" "ld", "te" "lls", "no" "body", "some" "body", "mean" "while", "h" "im", "giv" "en back",
         "tak" "es back", "look" "s on")


class Prose(unittest.TestCase):
    def check(self, files):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, CHECK, "--root", folder], capture_output=True,
                                 text=True, check=False)
            return run.returncode, run.stdout + run.stderr

    def rejects(self, name, text, expected):
        status, output = self.check({name: text})
        self.assertEqual(status, 1, f"{text}: {output}")
        self.assertIn(expected, output)

    def test_plain_sentences_pass(self):
        status, output = self.check({
            "irp/src/a.cpp": "// The driver owns the IRP.\nint what; // a count\nauto s = \"a b\";\n",
            "docs/a.md": "# Of mice\n\nThe verb `to" "ld` and the words \"What now\" are quoted.\n\n"
                         "```\n// What code shows\n```\n",
            "tools/a.py": "# The file.\nx = 'What'\n"})
        self.assertEqual(status, 1, output)  # a heading is prose
        self.assertEqual(output, "docs/a.md:1: a sentence begins with 'Of': begin with a noun\n1 findings\n")

    def test_opening_in_comment_or_document_is_refused(self):
        for word in OPENINGS:
            with self.subTest(word):
                expected = f"a sentence begins with '{word}'"
                self.rejects("irp/src/a.cpp", f"int a;\n/// {word} comes first.\n", "a.cpp:2: " + expected)
                self.rejects("irp/include/irp/a.h", f"/* One. {word} comes. */\n", "a.h:1: " + expected)
                self.rejects("docs/a.md", f"A list\n\n- {word} comes.\n", expected)
                self.rejects("tools/a.sh", f"# {word} comes.\n", expected)

    def test_word_in_message_is_refused(self):
        for word in WORDS:
            with self.subTest(word):
                self.rejects("samples/a.cpp", f'auto help = "it is {word} now";\n', f"'{word}'")
                self.rejects("irp/src/a.cpp", f"// It is\n// {word} now.\n", f"a.cpp:2: '{word}'")

    def test_listed_file_or_folder_is_excused_until_plain(self):
        bad = {"irp/src/a.cpp": "// What it is.\n"}
        for entry in ("irp/src/a.cpp", "irp/src"):
            listed = {"tools/prose-allow.txt": entry + "\n"}
            self.assertEqual(self.check({**bad, **listed})[0], 0)
            status, output = self.check({"irp/src/a.cpp": "// The driver.\n", **listed})
            self.assertEqual(status, 1)
            self.assertIn(f"nothing to excuse in {entry}: remove it", output)


if __name__ == "__main__":
    unittest.main()
