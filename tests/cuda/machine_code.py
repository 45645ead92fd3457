"""How many instructions the loops of the kernels have, in the machine code for sm_90a: counted, and held against a table
and the documentation.

A line of the table: KERNEL INSTRUCTIONS SOURCE...: the innermost loop with an instruction of a source line that has this
text has so many; `-` instead of a text: the whole kernel. Of several instances of a template the largest counts.
Numbers are those of one version of the compiler, VERSION; with another there is nothing to compare.

docs/gpu.md repeats the numbers in the last column of its table of loops, in the same order.
"""

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

import kernel_gates
from kernel_gates import Failure, base_name

VERSION = "13.0"
MARKS = ("<!-- machine code -->", "<!-- end -->")
INSTRUCTION = re.compile(r"\s+/\*[0-9a-f]{4,}\*/\s+(.*?);")
SOURCE_LINE = re.compile(r'\s*//## File "([^"]+)", line (\d+)')
LABEL = re.compile(r"(\.L_x_\d+):")
JUMP = re.compile(r"\bBRA\b.*`\((\.L_x_\d+)\)")


class Instruction(NamedTuple):
    source: tuple  # (file, line), where the compiler says
    jumps_to: str  # a label, or ""


class Kernel(NamedTuple):
    name: str
    instructions: list
    labels: dict  # -> index of the instruction behind it

    def loops(self):
        """(first, last) instruction of every loop: from where a jump backwards leads to the jump."""
        for at, instruction in enumerate(self.instructions):
            start = self.labels.get(instruction.jumps_to, at)
            if start < at:
                yield start, at


class Row(NamedTuple):
    kernel: str
    count: int
    text: str


def read_disassembly(text):
    kernels, source = [], None
    for line in text.splitlines():
        if match := re.match(r"\s*\.section\s+\.text\.(\w+)", line):
            kernels.append(Kernel(base_name(match[1]), [], {}))
            source = None
        elif match := SOURCE_LINE.match(line):
            source = (match[1], int(match[2]))  # the innermost, of what is inlined
        elif match := LABEL.match(line):
            kernels[-1].labels[match[1]] = len(kernels[-1].instructions)
        elif kernels and (match := INSTRUCTION.match(line)):
            jump = JUMP.search(match[1])
            kernels[-1].instructions.append(Instruction(source, jump[1] if jump else ""))
    return kernels


def read_table(path):
    rows = []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.partition("#")[0].split(maxsplit=2)
        if words and (len(words) < 3 or not words[1].isdigit()):
            raise Failure(f"{path.name}:{number}: '{line}' is no KERNEL INSTRUCTIONS SOURCE...")
        if words:
            rows.append(Row(words[0], int(words[1]), words[2].strip()))
    return rows


def has_text(instruction, text, lines_of):
    if instruction.source is None:
        return False
    lines = lines_of(instruction.source[0])
    return instruction.source[1] <= len(lines) and text in lines[instruction.source[1] - 1]


def count(row, kernels, lines_of):
    """The instructions of what the row names; None where there is no such kernel or loop."""
    sizes = []
    for kernel in kernels:
        if kernel.name != row.kernel:
            continue
        if row.text == "-":
            # The code ends with a jump to itself; what is behind it fills the last cache line.
            ends = [at for at, i in enumerate(kernel.instructions) if kernel.labels.get(i.jumps_to) == at]
            sizes.append(ends[0] if ends else len(kernel.instructions))
            continue
        with_text = [at for at, i in enumerate(kernel.instructions) if has_text(i, row.text, lines_of)]
        around = [last - first + 1 for first, last in kernel.loops() if any(first <= at <= last for at in with_text)]
        sizes += [min(around)] if around else []
    return max(sizes, default=None)


def documented(page):
    """The last column of the table of loops."""
    begin, found, rest = page.partition(MARKS[0])
    table, ended, _ = rest.partition(MARKS[1])
    if not found or not ended:
        raise Failure(f"docs/gpu.md: no table between {MARKS[0]} and {MARKS[1]}")
    rows = [line.strip().strip("|").split("|") for line in table.strip().splitlines()[2:]]
    return [(cells[0].strip().strip("`"), cells[-1].strip()) for cells in rows]


def disassemble(source, options):
    with tempfile.TemporaryDirectory() as folder:
        cubin = f"{folder}/code.cubin"
        command = [options.nvcc, "-std=c++17", "-cubin", "-lineinfo", "-arch=sm_90a", f"-I{options.root}", str(source)]
        command += ["-o", cubin]
        command += [f"-ccbin={options.host_compiler}"] if options.host_compiler else []
        for step in (command, [options.nvdisasm, "-g", "-c", cubin]):
            done = subprocess.run(step, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            if done.returncode:
                raise Failure(f"{source.name}: {step[0]} failed:\n{done.stdout}")
        return read_disassembly(done.stdout)


def why_skipped(options):
    if reason := kernel_gates.why_skipped(options.nvcc):
        return reason
    version = subprocess.run([options.nvcc, "--version"], capture_output=True, text=True).stdout
    if f"release {VERSION}," not in version:
        return f"nvcc is not {VERSION}, whose numbers are in the table"
    return None if shutil.which(options.nvdisasm) else "no nvdisasm"


def check(options):
    rows = read_table(options.table)
    told = documented((options.root / "docs/gpu.md").read_text())
    if told != (numbers := [(row.kernel, str(row.count)) for row in rows]):
        raise Failure(f"docs/gpu.md: the table of loops ends with {told}, {options.table.name} says {numbers}")
    if reason := why_skipped(options):
        print(f"skipped: {reason}")
        return
    kernels = [k for source in sorted((options.root / "gpu").glob("*.cu")) for k in disassemble(source, options)]
    texts = {}
    wrong = []

    def lines_of(file):
        if file not in texts:
            texts[file] = Path(file).read_text().splitlines()
        return texts[file]

    for row in rows:
        found = count(row, kernels, lines_of)
        print(f"{row.kernel} {found} {row.text}")
        if found != row.count:
            wrong.append(f"{row.kernel}, '{row.text}': {found or 'no loop'}, {options.table.name} says {row.count}")
    if wrong:
        raise Failure("\n".join(wrong))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--nvdisasm", default="nvdisasm")
    parser.add_argument("--host-compiler", default="", help="nvcc's choice where it is not given")
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("root", type=Path, help="the repository")
    try:
        check(parser.parse_args())
    except Failure as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
