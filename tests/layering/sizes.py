"""Checks that files and functions stay small enough to be read: 900 lines per file, 80 per function.

    sizes.py REPOSITORY

Prints a line for everything that is longer, then fails. A function counts from the first line of its signature to its
closing brace. Tests may be longer, and so may tables of data (.def files are not looked at, sources are named below).
"""

import argparse
import re
import sys
from pathlib import Path

ROOTS = ("sim", "models", "traces", "tools", "gpu")
SUFFIXES = (".h", ".cpp", ".cu", ".cuh")
TESTS = ("gpu/test/",)
TABLES = {}  # path -> why it may be longer: what of it is data
LONGEST_FILE = 900
LONGEST_FUNCTION = 80

# A quote between digits (1'000) starts no character.
TEXT_OR_COMMENT = re.compile(
    r"""R"([^()\\\s]*)\(.*?\)\1"|//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"|(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+'""", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.)*", re.MULTILINE | re.DOTALL)
NO_CODE = re.compile(r"\b(?:public|private|protected)\s*:(?!:)|\b(?:alignas|__launch_bounds__)\([^()]*\)")
TOKEN = re.compile(r"\n|[{}();,]|[^\s{}();,]+")
SCOPE = {"namespace", "class", "struct", "union", "extern"}


def code_of(text):
    """The text without what is not code, its lines where they were."""
    for pattern in (TEXT_OR_COMMENT, DIRECTIVE, NO_CODE):
        text = pattern.sub(lambda match: " " + "\n" * match.group().count("\n"), text)
    return text


class Reader:
    """Finds the functions that are defined in namespaces and classes, not the lambdas in them."""

    def __init__(self):
        self.found = []      # (name, first line, last line)
        self.head = []       # the statement so far: its words and brackets
        self.first_line = 0  # of it
        self.blocks = []     # what is open: is it a namespace or class, or a body or list of values?
        self.body = None     # of the statement: its last line, once it has one
        self.parentheses = 0

    def read(self, text):
        line = 1
        for token in TOKEN.findall(code_of(text)):
            if token == "\n":
                line += 1
            elif not all(self.blocks):
                self.inside(token, line)
            else:
                self.outside(token, line)
        self.end_statement()
        if self.blocks:
            raise ValueError("more braces open than close")
        return self.found

    def inside(self, token, line):
        if token == "{":
            self.blocks.append(False)
        elif token == "}":
            self.blocks.pop()
            self.body = line

    def outside(self, token, line):
        if self.body is not None and not self.parentheses and token != ";":
            if token in "{,":  # what was closed was an initialiser
                self.body = None
            else:
                self.end_statement()
        if token == "}":
            if not self.blocks:
                raise ValueError(f"line {line} closes a brace too many")
            self.blocks.pop()
        elif token == ";" and not self.parentheses:
            self.end_statement()
        elif token == "{" and self.opens_scope():
            self.blocks.append(True)
            self.head = []
        elif token == "{":
            self.blocks.append(False)
        else:
            self.parentheses += {"(": 1, ")": -1}.get(token, 0)
            self.first_line = self.first_line if self.head else line
            self.head.append(token)

    def opens_scope(self):
        return not self.parentheses and "(" not in self.head and not SCOPE.isdisjoint(self.head)

    def end_statement(self):
        if self.body is not None and "(" in self.head and self.head.index("(") > 0:
            self.found.append((self.head[self.head.index("(") - 1], self.first_line, self.body))
        self.head, self.body = [], None


def functions(text):
    return Reader().read(text)


def check(root):
    errors = []
    for path in sorted(path for top in ROOTS for path in (root / top).rglob("*") if path.suffix in SUFFIXES):
        name = path.relative_to(root).as_posix()
        if name.startswith(TESTS) or name in TABLES:
            continue
        text = path.read_text()
        lines = text.count("\n")
        if lines > LONGEST_FILE:
            errors.append(f"{name}: {lines} lines, more than {LONGEST_FILE}: split it by subject")
        try:
            errors += [f"{name}:{first}: {function}() has {last - first + 1} lines, more than {LONGEST_FUNCTION}"
                       for function, first, last in functions(text) if last - first >= LONGEST_FUNCTION]
        except ValueError as error:
            errors.append(f"{name}: cannot be read: {error}")
    errors += [f"sizes.py: no such file {name}" for name in TABLES if not (root / name).exists()]
    return errors


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repository", type=Path)
    root = parser.parse_args().repository
    errors = [f"{top}: no sources there" for top in ROOTS if not any((root / top).rglob("*.h"))] + check(root)
    print("\n".join(errors) or "every file and function is short enough")
    sys.exit(1 if errors else 0)


if __name__ == "__main__":
    main()
