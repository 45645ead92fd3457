"""What nvcc makes of the kernels of some folders, checked without running them.

Every *.cu is compiled for sm_90a and sm_80. No function may have a stack frame or spill registers (nothing in local
memory); the kernels must be those of the table, with no more registers and no more divisions of 64 bits in their PTX than
it says; the instructions that it names must be in the PTX of all instances of the kernel for sm_90a, and nowhere in the
PTX for sm_80.

A line of the table: KERNEL REGISTERS DIVISIONS [INSTRUCTION...]; all instances of a template are one kernel.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

OLDEST_NVCC = 12
WITH_BULK_COPY = "sm_90a"
WITHOUT = "sm_80"
DIVISION = re.compile(r"\b(?:div|rem)\.[su]64\b")  # a call of some 70 instructions each


class Row(NamedTuple):
    registers: int
    divisions: int
    instructions: tuple = ()


class Function(NamedTuple):
    """A kernel (or, without registers, a function it calls) as ptxas reports it."""

    symbol: str
    architecture: str
    stack: int
    stores: int
    loads: int
    registers: int


class Entry(NamedTuple):
    """A kernel in PTX."""

    symbol: str
    architecture: str
    text: str


class Failure(Exception):
    pass


def base_name(symbol):
    """The last part of a mangled name: f of _ZN1a1b1fIiEEvv."""
    rest = re.sub(r"^_ZN?K?", "", symbol)
    name = symbol
    while match := re.match(r"\d+", rest):
        end = match.end() + int(match[0])
        name, rest = rest[match.end() : end], rest[end:]
    return name


def read_table(path):
    table = {}
    for number, line in enumerate(path.read_text().splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        if len(words) < 3 or not (words[1] + words[2]).isdigit() or words[0] in table:
            raise Failure(
                f"{path.name}:{number}: '{line}' is no KERNEL REGISTERS DIVISIONS [INSTRUCTION...], or one too many"
            )
        table[words[0]] = Row(int(words[1]), int(words[2]), tuple(words[3:]))
    return table


def read_report(text):
    """The functions of what -Xptxas -v prints: a kernel, those it calls, then the kernel's registers."""
    functions = []
    for line in text.splitlines():
        if match := re.search(r"Compiling entry function '\S+' for '(\w+)'", line):
            architecture = match[1]
            kernel = len(functions)
        elif match := re.search(r"Function properties for (\S+)", line):
            symbol = match[1]
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            functions.append(Function(symbol, architecture, *map(int, match.groups()), registers=0))
        elif match := re.search(r"Used (\d+) registers", line):
            functions[kernel] = functions[kernel]._replace(registers=int(match[1]))
    return functions


def read_ptx(text):
    architecture = re.search(r"^\.target (\w+)", text, re.MULTILINE)[1]
    pieces = re.split(r"^(?=[.\w ]*\.(?:entry|func)\b)", text, flags=re.MULTILINE)
    entries = ((re.match(r"[.\w ]*\.entry (\w+)", piece), piece) for piece in pieces)
    return [Entry(match[1], architecture, piece) for match, piece in entries if match]


def problems(table, table_name, functions, entries):
    """Yields what is wrong, a line each."""
    for function in functions:
        where = f"{base_name(function.symbol)} for {function.architecture}"
        if function.stack or function.stores or function.loads:
            yield (
                f"{where}: {function.stack} bytes of stack, {function.stores} spilled, {function.loads} loaded again:"
                f" must be 0 ({function.symbol})"
            )
        row = table.get(base_name(function.symbol))
        if row and function.registers > row.registers:
            yield f"{where}: {function.registers} registers, {table_name} allows {row.registers} ({function.symbol})"
    for entry in entries:
        row = table.get(base_name(entry.symbol))
        if row and (divisions := len(DIVISION.findall(entry.text))) > row.divisions:
            where = f"{base_name(entry.symbol)} for {entry.architecture}"
            yield f"{where}: {divisions} divisions of 64 bits, {table_name} allows {row.divisions} ({entry.symbol})"
    for kernel in sorted({base_name(entry.symbol) for entry in entries} - set(table)):
        yield f"{kernel}: not in {table_name}"
    for kernel, row in table.items():
        instances = [entry for entry in entries if base_name(entry.symbol) == kernel]
        for architecture in (WITH_BULK_COPY, WITHOUT):
            if all(entry.architecture != architecture for entry in instances):
                yield f"{kernel}: in {table_name}, but not in the code for {architecture}"
        for instruction in row.instructions:
            if any(entry.architecture == WITH_BULK_COPY and instruction not in entry.text for entry in instances):
                yield f"{kernel} for {WITH_BULK_COPY}: no {instruction} in its PTX"
            if any(entry.architecture == WITHOUT and instruction in entry.text for entry in entries):
                yield f"{kernel} for {WITHOUT}: {instruction} in its PTX, which is for {WITH_BULK_COPY} alone"


def compile_kernels(source, nvcc, host_compiler, include):
    """The functions and entries of one file."""
    with tempfile.TemporaryDirectory() as folder:
        command = [nvcc, "-std=c++17", "-c", str(source), "-o", f"{folder}/object.o", "-Xptxas=-v", f"-I{include}"]
        command += ["-Xcompiler=-Wall,-Wextra", "-Werror=all-warnings", "--keep", f"--keep-dir={folder}"]
        command += [f"-ccbin={host_compiler}"] if host_compiler else []
        for architecture in (WITH_BULK_COPY, WITHOUT):
            # Not the shorthand -arch: it adds a pass for another architecture.
            command.append(f"-gencode=arch={architecture.replace('sm', 'compute')},code={architecture}")
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if done.returncode:
            raise Failure(f"{source.name} does not compile:\n{done.stdout}")
        entries = [entry for path in Path(folder).glob("*.ptx") for entry in read_ptx(path.read_text())]
        return read_report(done.stdout), entries


def why_skipped(nvcc):
    if not shutil.which(nvcc):
        return "no nvcc"
    version = subprocess.run([nvcc, "--version"], capture_output=True, text=True).stdout
    release = re.search(r"release ((\d+)[.\d]*)", version)
    if not release or int(release[2]) < OLDEST_NVCC:
        return f"nvcc is {release[1] if release else 'of no known version'}, older than {OLDEST_NVCC}"
    return None


def check(options):
    if reason := why_skipped(options.nvcc):
        print(f"skipped: {reason}")
        return
    table = read_table(options.table)
    sources = []
    for folder in options.folders:
        if not (found := sorted(folder.glob("*.cu"))):
            raise Failure(f"no *.cu in {folder}")
        sources += found
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        compiled = list(
            pool.map(lambda s: compile_kernels(s, options.nvcc, options.host_compiler, options.include), sources)
        )
    functions = [function for of_file, _ in compiled for function in of_file]
    entries = [entry for _, of_file in compiled for entry in of_file]
    for kernel, row in table.items():
        used = [str(f.registers) for f in functions if base_name(f.symbol) == kernel]
        divisions = max((len(DIVISION.findall(e.text)) for e in entries if base_name(e.symbol) == kernel), default=0)
        print(f"{kernel}: {max(used, key=int, default='no')} registers of {row.registers}, {divisions} divisions of"
              f" {row.divisions}, {len(used)} instances")
    if found := list(problems(table, options.table.name, functions, entries)):
        raise Failure("\n".join(found))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nvcc", default="nvcc")
    parser.add_argument("--host-compiler", default="", help="nvcc's choice where it is not given")
    parser.add_argument("--include", type=Path, required=True, help="the repository")
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("folders", type=Path, nargs="+", metavar="FOLDER")
    try:
        check(parser.parse_args())
    except Failure as failure:
        sys.exit(str(failure))


if __name__ == "__main__":
    main()
