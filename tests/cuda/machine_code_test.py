"""Tests of machine_code.py on made-up disassemblies, tables and pages."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import machine_code
from machine_code import Row

# Two instances of a kernel: a loop within a loop, and another; then a jump to itself and what fills the cache line.
DISASSEMBLY = """\
\t.section\t.text._Z4walkv,"ax",@progbits
.text._Z4walkv:
\t//## File "walk.cu", line 1
        /*0000*/                   MOV R1, c[0x0][0x28] ;
.L_x_0:
\t//## File "walk.cu", line 2
        /*0010*/                   IADD R2, R2, 1 ;
.L_x_1:
\t//## File "walk.cu", line 3
        /*0020*/                   IADD R3, R3, 1 ;
        /*0030*/               @P0 BRA `(.L_x_1) ;
\t//## File "walk.cu", line 2
        /*0040*/               @P1 BRA `(.L_x_0) ;
        /*0050*/                   EXIT ;
.L_x_2:
        /*0060*/                   BRA `(.L_x_2);
        /*0070*/                   NOP;
\t.section\t.text._ZN1a4walkIiEEvv,"ax",@progbits
.L_x_3:
\t//## File "helper.h", line 1
        /*0000*/                   IADD R2, R2, 1 ;
        /*0010*/                   IADD R2, R2, 1 ;
        /*0020*/               @P0 BRA `(.L_x_3) ;
"""
SOURCES = {"walk.cu": ["begin", "outer", "inner"], "helper.h": ["inner too"]}
PAGE = "text\n<!-- machine code -->\n| kernel | what | now |\n|---|---|---|\n| `walk` | a step | 2 |\n<!-- end -->\n"


class Counting(unittest.TestCase):
    def count(self, text, kernel="walk"):
        return machine_code.count(Row(kernel, 0, text), machine_code.read_disassembly(DISASSEMBLY), SOURCES.__getitem__)

    def test_the_innermost_loop_around_a_source_line_counts(self):
        self.assertEqual(self.count("outer"), 4)

    def test_of_several_instances_the_largest_counts_inlined_lines_too(self):
        self.assertEqual(self.count("inner"), 3)

    def test_a_whole_kernel_ends_where_it_jumps_to_itself(self):
        self.assertEqual(self.count("-"), 6)

    def test_a_line_in_no_loop_and_a_kernel_that_is_not_there_have_no_count(self):
        self.assertEqual((self.count("begin"), self.count("outer", "run")), (None, None))


class Tables(unittest.TestCase):
    def test_a_line_that_is_none_is_named(self):
        for line in ("walk", "walk 5", "walk many outer"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.txt"
                path.write_text(f"# a comment\nwalk 5 outer loop # with spaces\n{line}\n")
                with self.assertRaises(machine_code.Failure) as caught:
                    machine_code.read_table(path)
            self.assertEqual(str(caught.exception), f"table.txt:3: '{line}' is no KERNEL INSTRUCTIONS SOURCE...")

    def test_the_page_ends_its_rows_with_the_numbers(self):
        self.assertEqual(machine_code.documented(PAGE), [("walk", "2")])
        with self.assertRaisesRegex(machine_code.Failure, "docs/gpu.md: no table between"):
            machine_code.documented("no marks")


class WithoutCompiler(unittest.TestCase):
    def run_check(self, page, nvcc):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs").mkdir()
            (root / "docs/gpu.md").write_text(page)
            (root / "table.txt").write_text("walk 2 outer\n")
            compiler = root / "nvcc"
            compiler.write_text(f"#!/bin/sh\necho '{nvcc}'\n")
            compiler.chmod(0o755)
            done = subprocess.run(
                [sys.executable, "-B", machine_code.__file__, f"--nvcc={compiler if nvcc else 'no-nvcc'}",
                 "--nvdisasm=no-nvdisasm", f"--table={root}/table.txt", folder],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        return done.returncode, done.stdout

    def test_what_is_missing_is_said_and_skipped(self):
        self.assertEqual(self.run_check(PAGE, ""), (0, "skipped: no nvcc\n"))
        self.assertEqual(self.run_check(PAGE, "release 13.1, V13.1"),
                         (0, "skipped: nvcc is not 13.0, whose numbers are in the table\n"))
        self.assertEqual(self.run_check(PAGE, "release 13.0, V13.0"), (0, "skipped: no nvdisasm\n"))

    def test_a_page_with_another_number_fails_wherever_it_is_checked(self):
        self.assertEqual(self.run_check(PAGE.replace("| 2 |", "| 3 |"), ""),
                         (1, "docs/gpu.md: the table of loops ends with [('walk', '3')], table.txt says"
                             " [('walk', '2')]\n"))


if __name__ == "__main__":
    unittest.main()
