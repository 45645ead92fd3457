"""Finds what of production nothing but tests uses.

    unused_symbols.py --allowed unused_symbols.txt [--inlined] REPOSITORY OBJECT...

Two checks, a line for everything that is found, then it fails:

- Functions and variables with external linkage, in the OBJECTs of the program, that main() and what runs before it do not
  lead to. What leads where is read from the relocations: within an object as between objects, so that sources that are
  compiled together hide nothing. This is what `ld --gc-sections` does, without a section a function. What has internal
  linkage counts as used: the compiler warns of it once its last user goes. An inlined call leaves no trace: objects of -O0
  are exact. With --inlined, of others, a function counts as used that production names more often than to declare and define it.
- Functions and constants of headers whose name production has once, where they are defined: inline ones, which leave no
  symbol when nobody uses them.

--allowed has a line for every exception: a header whose names need no user yet, then why.
"""

import argparse
import re
import struct
import subprocess
import sys
from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

# ---- Objects: ELF, 64 bits, little-endian (System V ABI; x86-64 and AArch64 alike).

PRODUCTION = ("sim", "models", "traces", "tools")
SHT_SYMTAB, SHT_RELA, SHF_ALLOC = 2, 4, 2
STB_LOCAL, STB_GLOBAL = 0, 1
STT_OBJECT, STT_FUNC, STT_SECTION = 1, 2, 3
SHN_UNDEF, SHN_LORESERVE = 0, 0xFF00
# Sections that list functions and variables for sanitizers, unwinding and debuggers: no use.
METADATA = re.compile(r"^(\.eh_frame|\.debug|\.llvm|asan_globals|__sancov|\.note|\.comment|\.gcc_except_table)")


@dataclass
class Section:
    name: str
    kind: int
    flags: int
    offset: int
    size: int
    link: int
    info: int


def text_at(data, offset):
    return data[offset : data.index(b"\0", offset)].decode()


def sections_of(data):
    header_offset = struct.unpack_from("<Q", data, 0x28)[0]
    size, count, names = struct.unpack_from("<HHH", data, 0x3A)
    if count == 0:  # more than fit into 16 bits: section 0 says
        count = struct.unpack_from("<Q", data, header_offset + 0x20)[0]
    if names == 0xFFFF:
        names = struct.unpack_from("<I", data, header_offset + 0x28)[0]
    raw = [struct.unpack_from("<IIQQQQIIQQ", data, header_offset + i * size) for i in range(count)]
    return [
        Section(text_at(data, raw[names][4] + r[0]), r[1], r[2], r[4], r[5], r[6], r[7]) for r in raw
    ]


class Program:
    """What leads to what, by symbol. Symbols of internal linkage are one root, None."""

    def __init__(self):
        self.edges = defaultdict(set)
        self.defined = set()  # strong symbols of functions and variables

    def add(self, data):
        sections = sections_of(data)
        table = next((s for s in sections if s.kind == SHT_SYMTAB), None)
        if table is None:
            return
        strings = sections[table.link].offset
        names = []  # by index: of symbols with external linkage, else None
        starts = defaultdict(list)  # by section: where its symbols start and end
        symbols = struct.iter_unpack("<IBBHQQ", data[table.offset : table.offset + table.size])
        for name, info, _, section, value, size in symbols:
            is_local = info >> 4 == STB_LOCAL
            names.append(None if is_local else text_at(data, strings + name))
            if section == SHN_UNDEF or section >= SHN_LORESERVE or info & 15 not in (STT_OBJECT, STT_FUNC):
                continue
            starts[section].append((value, value + size, names[-1]))
            if info >> 4 == STB_GLOBAL:
                self.defined.add(names[-1])
        for section in sections:
            if section.kind != SHT_RELA:
                continue
            target = sections[section.info]
            if target.flags & SHF_ALLOC and not METADATA.match(target.name):
                self.add_relocations(data, section, sorted(starts[section.info], key=lambda s: s[:2]), names)

    def add_relocations(self, data, section, symbols, names):
        """`symbols` of the section that is relocated."""
        begins = [symbol[0] for symbol in symbols]
        relocations = struct.iter_unpack("<QQq", data[section.offset : section.offset + section.size])
        for offset, info, _ in relocations:
            to = names[info >> 32]
            if to is None:
                continue
            # Several symbols may share a place: constructors that are one.
            found = bisect_right(begins, offset) - 1
            sources = {None}
            if found >= 0 and offset < symbols[found][1]:
                begin = begins[found]
                sources = {name for at, _, name in symbols[max(0, found - 3) : found + 1] if at == begin}
            for source in sources:
                self.edges[source].add(to)

    def unreached(self):
        reached, new = {"main", None}, ["main", None]
        while new:
            for to in self.edges.get(new.pop(), ()):
                if to not in reached:
                    reached.add(to)
                    new.append(to)
        return self.defined - reached


def demangled(names):
    names = sorted(names)
    run = subprocess.run(["c++filt"], input="\n".join(names), capture_output=True, text=True, check=True)
    return dict(zip(names, run.stdout.splitlines()))


def unused_symbols(paths):
    """As a person reads them. Constructors and destructors count as used when one of their variants is."""
    program = Program()
    for path in paths:
        program.add(path.read_bytes())
    if "main" not in program.defined:
        raise SystemExit("unused_symbols.py: no main() in these objects: are they those of the program?")
    unreached = program.unreached()
    readable = demangled(name for name in program.defined if not name.startswith("_ZT"))
    used = {text for name, text in readable.items() if name not in unreached}
    return sorted({text for text in readable.values() if text not in used and "goodput::" in text})


# ---- Sources.

COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|R"\((?:.*?)\)"|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
FUNCTION = re.compile(r"\b([a-z]\w*)\([^()]*(?:\([^()]*\)[^()]*)*\)(?: const)?(?: noexcept)?(?: override)? (?:\{|:)")
CONSTANT = re.compile(r"^(?:inline )?constexpr [^=;{(]*?\b(k[A-Z]\w*)\b", re.MULTILINE)
WORD = re.compile(r"[A-Za-z_]\w*")
DECLARED = re.compile(r"\b(\w+)(?=\s*[({:])|\b(?:constexpr|extern)\s[^=;({]*?\b(k\w+)")
DECLARED_AND_DEFINED = 2  # how often a function is named that nobody calls
PASTED = re.compile(r"\b(\w+_)##")  # what macros make names of: policy_##name
NO_NAMES = {"if", "for", "while", "switch", "catch", "return", "sizeof", "requires"}


def sources_of(root):
    """Text without comments, by path."""
    return {
        str(path.relative_to(root)): COMMENT_OR_TEXT.sub(" ", path.read_text())
        for folder in PRODUCTION + ("gpu",)
        for path in sorted((root / folder).rglob("*"))
        if path.suffix in (".h", ".cpp", ".def", ".cu", ".cuh")
    }


def counts_of_words(sources):
    count = defaultdict(int)
    for text in sources.values():
        for word in WORD.findall(text):
            count[word] += 1
    return count


def unused_names(sources):
    """(path, name): what headers define and no other place names."""
    count = counts_of_words(sources)
    return [
        (path, name)
        for path, text in sources.items()
        if path.endswith(".h") and path.startswith(PRODUCTION)
        for name in sorted(set(FUNCTION.findall(text) + CONSTANT.findall(text)) - NO_NAMES)
        if count[name] == 1
    ]


def names_in(symbol):
    """`goodput::StepEngine::run(int) const`: {"run", "StepEngine"}; of a free function its name alone."""
    plain = re.sub(r"\(anonymous namespace\)::|\[abi:\w+\]", "", symbol)
    words = re.sub(r"<.*|\(.*", "", plain).split("::")
    return {word.lstrip("~") for word in words[-2:] if word.lower() != word or word == words[-1]}


def declared_in(text):
    """Types, functions and constants of a header."""
    return {name for names in DECLARED.findall(text) for name in names if name}


def is_named_by_users(name, count, pasted):
    return count[name] > DECLARED_AND_DEFINED or name.startswith(pasted)


def read_allowed(path):
    """The headers of the list."""
    lines = [line.partition("#")[0].split(None, 1) for line in Path(path).read_text().splitlines()]
    return {line[0] for line in lines if line}


def findings(root, allowed, objects, inlined=False):
    sources = sources_of(root)
    count = counts_of_words(sources)
    pasted = tuple({prefix for text in sources.values() for prefix in PASTED.findall(text)})
    words = {header: declared_in(sources.get(header, "")) for header in allowed}
    errors = [f"{header}: excepted, but there is no such header" for header in allowed if header not in sources]
    excepted = set()

    def is_allowed(names):
        headers = [header for header in allowed if names <= words[header]]
        excepted.update(headers)
        return bool(headers)

    for symbol in unused_symbols(objects):
        is_inlined = inlined and all(is_named_by_users(name, count, pasted) for name in names_in(symbol))
        if not is_allowed(names_in(symbol)) and not is_inlined:
            errors.append(f"{symbol}: only tests use it, or nobody")
    for path, name in unused_names(sources):
        if path in allowed:
            excepted.add(path)
        else:
            errors.append(f"{path}: only tests use {name}, or nobody")
    unneeded = sorted(header for header in allowed - excepted if header in sources)
    return errors + [f"{header}: is used, needs no exception" for header in unneeded]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--allowed", required=True)
    parser.add_argument("--inlined", action="store_true")
    parser.add_argument("repository")
    parser.add_argument("objects", nargs="+", type=Path)
    options = parser.parse_args()
    errors = findings(Path(options.repository), read_allowed(options.allowed), options.objects, options.inlined)
    print("\n".join(errors) if errors else "every symbol has a user in production")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
