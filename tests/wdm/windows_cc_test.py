"""Sources that irpverbs-windows-cc compiles, and those that it leaves to the compiler."""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LAUNCHER, CLANG = sys.argv[1:3]
PROGRAM = """
#include "casts.h"
enum later;
enum later twice(enum later value);
enum later { first, second };
enum later twice(enum later value) { return value; }
struct entry { void *pointer; struct entry *next[2]; unsigned short half; };
int main(void) {
    char text[] = "abcdefgh";
    char *at = text;
    struct entry inner = {0, {0, 0}, 0x1234}, entry = {(void *)8, {&inner, &inner}, 0};
    struct entry *p = &entry;
    void *spare = (void *)0xF0, **which = &spare;
    ((unsigned long)p->pointer) |= 1; ((unsigned long)p->next[1]->pointer) = 6;
    SetFlag(((unsigned long) p->pointer), 2);
    SetFlag((unsigned long) *which, 15);
    ((unsigned)(unsigned long)entry.pointer)++;
    int two = *((short *)at)++ == 'a' + 256 * 'b' && at == text + 2;
    ((unsigned char)inner.half) = 0xFF; /* of a number the bytes that the type has */
    *(&(const void *)p->next[0]) = 0;
    raise_low(p);
    return entry.pointer == (void *)(8 + 1 + 2 + 1 + 16) && inner.pointer == (void *)6 && two &&
           spare == (void *)0xFF && inner.half == 0x12FF && !p->next[0] && twice(second) == 1
               ? 0 : 1;
}
"""
HEADER = """
#define SetFlag(F, SF) ((F) |= (SF))
struct entry;
static inline void raise_low(void *entry) { (unsigned long)(*(void **)entry) += 16; }
"""


class WindowsCc(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)

    def compile(self, text, *options, command=(LAUNCHER, CLANG), header=HEADER):
        folder = Path(self.folder.name)
        (folder / "source.c").write_text(text, encoding="utf-8")
        (folder / "casts.h").write_text(header, encoding="utf-8")
        return subprocess.run([*command, "-w", *options, "source.c"], cwd=folder, text=True,
                              capture_output=True, check=False)

    def files(self):
        return sorted(path.name for path in Path(self.folder.name).iterdir())

    def test_casts_that_are_changed_access_what_is_cast(self):
        self.assertNotEqual(self.compile(PROGRAM, "-o", "program", command=[CLANG]).returncode, 0)
        made = self.compile(PROGRAM, "-o", "program")
        self.assertEqual((made.returncode, made.stdout, made.stderr), (0, "", ""))
        self.assertEqual(subprocess.run([Path(self.folder.name) / "program"], check=False).returncode, 0)

    def test_files_stay_as_they_are_and_dependencies_name_them(self):
        self.assertEqual(self.compile(PROGRAM, "-c", "-MD").returncode, 0)
        self.assertEqual(self.files(), ["casts.h", "source.c", "source.d", "source.o"])
        folder = Path(self.folder.name)
        self.assertEqual((folder / "source.c").read_text(encoding="utf-8"), PROGRAM)
        self.assertEqual((folder / "source.d").read_text(encoding="utf-8").replace("\\\n", "").split(),
                         ["source.o:", "source.c", "casts.h"])

    def test_other_errors_are_the_compilers(self):
        wrong = "int f(int x) {\n    5 = x;\n    ((long)x) = y;\n    return x\n}\n"
        ours, plain = self.compile(wrong, "-c"), self.compile(wrong, "-c", command=[CLANG])
        self.assertEqual(ours.returncode, plain.returncode)
        for line in ("source.c:2:7: error: expression is not assignable",
                     "source.c:3:17: error: use of undeclared identifier 'y'",
                     "source.c:4:13: error: expected ';' after return statement"):
            self.assertIn(line.split(":", 3)[3], ours.stderr)
            self.assertIn(":".join(line.split(":")[:2]), ours.stderr)
        self.assertEqual(self.files(), ["casts.h", "source.c"])

    def test_a_cast_of_what_has_no_place_stays_an_error(self):
        result = self.compile("int g(void);\nvoid f(void) { ((long)g()) = 1; ((long)3) = 1; }\n", "-c")
        self.assertNotEqual(result.returncode, 0)
        self.assertIn("source.c:2:", result.stderr)

    def test_lines_and_messages_of_right_sources_pass_through(self):
        result = self.compile("#pragma message(\"seen\")\nint f(void) { return __LINE__; }\n", "-E")
        plain = self.compile("#pragma message(\"seen\")\nint f(void) { return __LINE__; }\n", "-E",
                             command=[CLANG])
        self.assertEqual((result.returncode, result.stdout), (0, plain.stdout))

    def test_wrong_use_is_one_line_and_exit_status_2(self):
        for command, said in (((LAUNCHER, "gcc"), "is no clang"),
                              ((LAUNCHER, "/nowhere/clang"), "no compiler '/nowhere/clang'")):
            result = self.compile("int x;\n", "-c", command=command)
            self.assertEqual(result.returncode, 2)
            self.assertIn(said, result.stderr)
            self.assertEqual(result.stderr.count("\n"), 1)
        self.assertEqual(subprocess.run([LAUNCHER], capture_output=True, check=False).returncode, 2)
        shown = subprocess.run([LAUNCHER, "--help"], capture_output=True, text=True, check=False)
        self.assertEqual(shown.returncode, 0)
        self.assertIn("irpverbs-windows-cc CLANG [OPTION...] SOURCE", shown.stdout)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
