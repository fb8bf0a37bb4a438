"""Proves that tools/check-terms can fail: for a term without an identifier and for each private word."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

CHECK = Path(__file__).resolve().parents[2] / "tools/check-terms"
LIST = """
# Everyday concepts
irp : cancel routine
irp : P_Key
irp/verify : heavy sweep  # a folder of its own

[private words]
ledger look_on
"""
GOOD = {"irp/src/a.cpp": "int SetCancelRoutine; int pkeys;\n", "irp/verify/b.hpp": "int heavy_sweep_;\n"}


class Terms(unittest.TestCase):
    def check(self, files, listed=LIST):
        with tempfile.TemporaryDirectory() as folder:
            for name, text in {"tools/terms.txt": listed, **GOOD, **files}.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            run = subprocess.run([sys.executable, CHECK, "--root", folder], capture_output=True,
                                 text=True, check=False)
            return run.returncode, run.stdout + run.stderr

    def rejects(self, files, expected, listed=LIST):
        status, output = self.check(files, listed)
        self.assertEqual(status, 1, output)
        self.assertIn(expected, output)

    def accepts(self, files):
        status, output = self.check(files)
        self.assertEqual(status, 0, output)

    def test_tree_with_all_terms_passes(self):
        self.accepts({})

    def test_capitals_and_underscores_divide_words(self):
        for name in ("cancel_routine_, p_key", "IoCancelRoutine, PKeyIndex", "CANCEL_ROUTINES, IB_PKEY"):
            with self.subTest(name):
                self.accepts({"irp/src/a.cpp": f"int {name};\n"})

    def test_term_without_identifier_is_reported(self):
        missing = "terms.txt:3: no identifier of irp contains 'cancel routine'"
        for text in ("int pkey;\n", "int pkey; // cancel_routine\n", "/* cancel_routine */ int pkey;\n",
                     'int pkey = f("cancel_routine");\n', "#include <cancel_routine.hpp>\nint pkey;\n",
                     "int pkey, routine_cancel;\n", "int pkey, cancel_routinely;\n"):
            with self.subTest(text):
                self.rejects({"irp/src/a.cpp": text}, missing)

    def test_term_of_another_folder_is_reported(self):
        self.rejects({"irp/verify/b.hpp": "", "irp/src/c.cpp": "int heavy_sweep;\n"},
                     "no identifier of irp/verify contains 'heavy sweep'")
        self.rejects({"irp/src/a.cpp": "int pkey;\n",
                      "irp/verify/b.hpp": "int heavy_sweep, cancel_routine;\n"},
                     "no identifier of irp contains 'cancel routine'")
        self.rejects({"irp/src/a.cpp": "int pkey;\n", "tests/irp/a.cpp": "int cancel_routine;\n"},
                     "no identifier of irp contains 'cancel routine'")

    def test_private_word_in_production_or_tests_is_reported(self):
        for folder in ("irp/src", "tests/irp", "samples"):
            for name, word in (("irp_ledger", "ledger"), ("TheLedger", "ledger"), ("look_on_it", "look_on")):
                with self.subTest(f"{folder} {name}"):
                    self.rejects({f"{folder}/c.cpp": f"\nint {name};\n"},
                                 f"{folder}/c.cpp:2: '{word}' in {name}: a private word")
        self.accepts({"irp/src/c.cpp": "int ledgers, look, on; // ledger\n"})

    def test_line_twice_or_without_term_is_reported(self):
        self.rejects({}, "'p_key' of irp is listed before",
                     LIST.replace("irp : P_Key", "irp : P_Key\nirp : p_key"))
        self.rejects({}, "expected 'folder : term'", LIST.replace("irp : P_Key", "P_Key"))


if __name__ == "__main__":
    unittest.main()
