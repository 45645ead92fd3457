"""Finds paths in comments, docs and configs that name no file of the repository.

    stale_paths.py REPOSITORY

A path is a word that begins with a folder of the root and ends with a suffix we use: models/cost/collectives.h. Prints
a line for everything that is found, then fails. *_test files are left out, for they make up files; links that are
relative to a page are not looked at.
"""

import re
import sys
from pathlib import Path

FOLDERS = ("sim", "models", "traces", "tools", "gpu", "tests", "docs", "configs", "cmake")
READ = (".h", ".cpp", ".def", ".cu", ".cuh", ".md", ".txt", ".py", ".json", ".cmake")
# The word goes on to its last dot: traces/samples/slow_worker.csv.gz.
PATH = re.compile(r"(?<![\w/.-])((?:" + "|".join(FOLDERS) + r")/[\w./-]*\.(?:h|cpp|def|cu|cuh|md|py|txt|json|csv|gz|cmake))(?![\w*])")
# Files that readers of the docs are to write; and those that a page has them make, which its test does.
EXAMPLE = re.compile(r"/(mine|x)\.json$")
MADE = re.compile(r"Make\s+`([^`]+)`:$", re.MULTILINE)


def stale_paths(root):
    """(file, line, path), and how many paths there are."""
    stale, count = [], 0
    for folder in (*FOLDERS, "."):
        files = (root / folder).glob("*" if folder == "." else "**/*")
        for file in sorted(file for file in files if file.suffix in READ and not re.search(r"_test\.\w+$", file.name)):
            text = file.read_text()
            made = set(MADE.findall(text))
            for number, line in enumerate(text.splitlines(), 1):
                for path in PATH.findall(line):
                    count += 1
                    if path not in made and not (root / path).exists() and not EXAMPLE.search(path):
                        stale.append((str(file.relative_to(root)), number, path))
    return stale, count


if __name__ == "__main__":
    found, checked = stale_paths(Path(sys.argv[1]))
    for where, at, what in found:
        print(f"{where}:{at}: there is no {what}")
    print(f"{checked} paths checked")
    sys.exit(1 if found or checked == 0 else 0)
