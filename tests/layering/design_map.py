"""Checks the map of docs/design.md: every folder with sources has a row, and what a row says to begin with is there.

    design_map.py REPOSITORY

A row begins with a folder, such as sim/base or tests/{sim,models}. In its last column, names between backticks are types and
functions: each stands in a header or source of the folder. Prints a line for everything that is wrong, then fails.
"""

import re
import sys
from pathlib import Path

PAGE = "docs/design.md"
ROOTS = ("sim", "models", "traces", "tools", "gpu", "tests")
SUFFIXES = (".h", ".cpp", ".cu", ".cuh", ".py", ".scenario")
ROW = re.compile(r"^\| ((?:" + "|".join(ROOTS) + r")(?:/[\w{},]+)?) \|.*\| (.*)\|$")


def rows(page):
    """(line, folder, names) of every row; a row of several folders is several."""
    for number, line in enumerate(page.splitlines(), 1):
        row = ROW.match(line)
        if row:
            top, _, below = row[1].partition("/")
            for folder in below.strip("{}").split(","):
                yield number, f"{top}/{folder}" if folder else top, re.findall(r"`(\w+)(?:\(\))?`", row[2])


def check(root):
    errors, named = [], set()
    for number, folder, names in rows((root / PAGE).read_text()):
        named.add(folder)
        if not (root / folder).is_dir():
            errors.append(f"{PAGE}:{number}: there is no folder {folder}")
        texts = [file.read_text() for file in (root / folder).glob("*") if file.suffix in SUFFIXES]
        for name in names:
            if not any(re.search(rf"\b{name}\b", text) for text in texts):
                errors.append(f"{PAGE}:{number}: {folder} has no {name}")
    for top in ROOTS:
        for folder in sorted(folder for folder in (root / top).glob("*") if folder.is_dir() and folder.name != "__pycache__"):
            name = folder.relative_to(root).as_posix()
            if name not in named and any(file.suffix in SUFFIXES for file in folder.rglob("*")):
                errors.append(f"{PAGE}: {name} has no row in the map")
    return errors, len(named)


if __name__ == "__main__":
    found, count = check(Path(sys.argv[1]))
    for message in found:
        print(message)
    print(f"{count} folders checked")
    sys.exit(1 if found or count == 0 else 0)
