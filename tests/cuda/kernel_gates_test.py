"""Tests of kernel_gates.py: its texts on made-up reports, and what it makes of fixtures/ where there is a compiler."""

import argparse
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import kernel_gates
from kernel_gates import Entry, Row

FOLDER = Path(__file__).parent
REPORT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_ZN1a4copyIiEEvPi' for 'sm_90a'
ptxas info    : Function properties for _ZN1a4copyIiEEvPi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for _ZN1a4helpEv
    8 bytes stack frame, 4 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 40 registers, used 0 barriers
ptxas info    : Compiling entry function '_ZN1a4copyIiEEvPi' for 'sm_80'
ptxas info    : Function properties for _ZN1a4copyIiEEvPi
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 41 registers, 376 bytes cmem[0]
"""
PTX = """\
.version 9.0
.target sm_90a
.func (.param .b32 result) help(
)
{ bulk.copy; }
.visible .entry _Z5placev(
)
{ ret; }
	// .globl _Z4copyv
.entry _Z4copyv(
)
{ bulk.copy; }
"""


def entries(newer="", older="", kernel="copy"):
    symbol = f"_Z{len(kernel)}{kernel}v"
    return [Entry(symbol, "sm_90a", newer), Entry(symbol, "sm_80", older)]


class Reading(unittest.TestCase):
    def test_names_are_those_of_the_source(self):
        self.assertEqual(kernel_gates.base_name("_Z5placev"), "place")
        self.assertEqual(kernel_gates.base_name("_ZN2gp12_GLOBAL__N_19copy_rowsI5uint4Li1EEEvPKT_"), "copy_rows")
        self.assertEqual(kernel_gates.base_name("plain_c"), "plain_c")

    def test_registers_are_the_kernels_not_of_what_it_calls(self):
        found = [(f.symbol, f.architecture, f.stack, f.stores, f.loads, f.registers)
                 for f in kernel_gates.read_report(REPORT)]
        self.assertEqual(found, [("_ZN1a4copyIiEEvPi", "sm_90a", 0, 0, 0, 40), ("_ZN1a4helpEv", "sm_90a", 8, 4, 12, 0),
                                 ("_ZN1a4copyIiEEvPi", "sm_80", 0, 0, 0, 41)])

    def test_an_instruction_belongs_to_the_kernel_it_is_in(self):
        found = [(e.symbol, e.architecture, "bulk.copy" in e.text) for e in kernel_gates.read_ptx(PTX)]
        self.assertEqual(found, [("_Z5placev", "sm_90a", False), ("_Z4copyv", "sm_90a", True)])

    def test_a_line_of_the_table_that_is_none_is_named(self):
        for line in ("copy", "copy 8", "copy 8 many", "copy many 0", "twice 8 0"):
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "table.txt"
                path.write_text(f"# a comment\ntwice 8 0 # registers, divisions\n{line}\n")
                with self.assertRaises(kernel_gates.Failure) as caught:
                    kernel_gates.read_table(path)
            self.assertEqual(str(caught.exception),
                             f"table.txt:3: '{line}' is no KERNEL REGISTERS DIVISIONS [INSTRUCTION...], or one too many")


class Problems(unittest.TestCase):
    def found(self, table, functions=(), of=None):
        return list(kernel_gates.problems(table, "table.txt", functions, entries() if of is None else of))

    def test_nothing_is_wrong(self):
        self.assertEqual(self.found({"copy": Row(41, 0, ("bulk",))}, of=entries("bulk.copy")), [])

    def test_local_memory_and_registers(self):
        self.assertEqual(self.found({"copy": Row(40, 0)}, kernel_gates.read_report(REPORT)), [
            "help for sm_90a: 8 bytes of stack, 4 spilled, 12 loaded again: must be 0 (_ZN1a4helpEv)",
            "copy for sm_80: 41 registers, table.txt allows 40 (_ZN1a4copyIiEEvPi)"])

    def test_divisions_of_64_bits_are_counted_in_every_instance(self):
        text = "div.s64 %rd3, %rd1, %rd2;\nrem.u64 %rd4, %rd1, %rd2;\ndiv.u32 %r3, %r1, %r2;\ndiv.rn.f32 %f3, %f1, %f2;"
        self.assertEqual(self.found({"copy": Row(8, 2)}, of=entries(text, text)), [])
        self.assertEqual(self.found({"copy": Row(8, 1)}, of=entries(text)),
                         ["copy for sm_90a: 2 divisions of 64 bits, table.txt allows 1 (_Z4copyv)"])

    def test_the_table_has_every_kernel_and_no_other(self):
        self.assertEqual(self.found({"place": Row(8, 0)}), [
            "copy: not in table.txt",
            "place: in table.txt, but not in the code for sm_90a",
            "place: in table.txt, but not in the code for sm_80"])

    def test_instructions_are_in_every_instance_for_the_one_and_nowhere_for_the_other(self):
        table = {"copy": Row(8, 0, ("bulk",))}
        self.assertEqual(self.found(table), ["copy for sm_90a: no bulk in its PTX"])
        self.assertEqual(self.found(table, of=entries("bulk") + entries()), ["copy for sm_90a: no bulk in its PTX"])
        self.assertEqual(self.found(table, of=entries("bulk", "bulk")),
                         ["copy for sm_80: bulk in its PTX, which is for sm_90a alone"])


def run(table, files, nvcc):
    """The gate over some of the fixtures: exit code and what it prints."""
    with tempfile.TemporaryDirectory() as folder:
        for name in files:
            (Path(folder) / name).write_text((FOLDER / "fixtures" / name).read_text())
        path = Path(folder) / "table.txt"
        path.write_text(table)
        done = subprocess.run(
            [sys.executable, FOLDER / "kernel_gates.py", f"--nvcc={nvcc}", f"--host-compiler={options.host_compiler}",
             f"--include={options.include}", f"--table={path}", folder],
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    return done.returncode, done.stdout.replace(folder, "FOLDER")


class WithoutCompiler(unittest.TestCase):
    def test_it_says_that_it_is_skipped(self):
        self.assertEqual(run("", [], "GOODPUT_NVCC-NOTFOUND"), (0, "skipped: no nvcc\n"))

    def test_an_old_compiler_is_as_none(self):
        with tempfile.TemporaryDirectory() as folder:
            old = Path(folder) / "nvcc"
            for says, reason in (("Cuda compilation tools, release 11.8, V11", "11.8"), ("", "of no known version")):
                old.write_text(f"#!/bin/sh\necho '{says}'\n")
                old.chmod(0o755)
                self.assertEqual(run("", [], old), (0, f"skipped: nvcc is {reason}, older than 12\n"))


class WithCompiler(unittest.TestCase):
    def setUp(self):
        if reason := kernel_gates.why_skipped(options.nvcc):
            self.skipTest(reason)

    def run_gate(self, table, *files):
        return run(table, files, options.nvcc)

    def test_what_fits_passes(self):
        code, output = self.run_gate("twice 16 0\nwait_for_copies 16 0 cp.async.bulk.commit_group", "fits.cu")
        self.assertRegex(output, r"^twice: \d+ registers of 16, 0 divisions of 0, 4 instances\nwait_for_copies: \d+ registers of 16, ")
        self.assertEqual(code, 0)

    def test_what_is_in_local_memory_fails(self):
        code, output = self.run_gate("spill 32 0\nindex_array 255 0", "spills.cu")
        for architecture in ("sm_90a", "sm_80"):
            self.assertRegex(output, rf"\nspill for {architecture}: [1-9]\d* bytes of stack, [1-9]\d* spilled, [1-9]")
            self.assertRegex(output, rf"\nindex_array for {architecture}: 256 bytes of stack, 0 spilled, 0 loaded")
        self.assertEqual((code, len(output.splitlines())), (1, 2 + 4))

    def test_too_few_registers_a_missing_row_and_a_missing_instruction_fail(self):
        code, output = self.run_gate("twice 1 0 cp.async.bulk.commit_group", "fits.cu")
        self.assertRegex(output, r"\ntwice for sm_80: \d+ registers, table.txt allows 1 \(_Z\w+\)\n")
        self.assertIn("\nwait_for_copies: not in table.txt\n", output)
        self.assertIn("\ntwice for sm_90a: no cp.async.bulk.commit_group in its PTX\n", output)
        self.assertEqual(code, 1)

    def test_what_does_not_compile_or_is_not_there_fails(self):
        self.assertEqual(self.run_gate(""), (1, "no *.cu in FOLDER\n"))
        code, output = self.run_gate("", "warns.cu")
        self.assertRegex(output, r"^warns.cu does not compile:\n(.|\n)*never_used")
        self.assertEqual(code, 1)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--host-compiler", default="")
    parser.add_argument("--include", type=Path, default=FOLDER.parents[1])
    options = parser.parse_args()
    unittest.main(argv=sys.argv[:1])
