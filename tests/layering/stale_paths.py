"""Finds paths in comments, docs and configs that name no file of the repository, and links of docs that lead nowhere.

    stale_paths.py REPOSITORY

A path is a word that begins with a folder of the root and ends with a suffix we use: models/cost/collectives.h. *_test files
are left out, for they make up files. A link is relative to its page: `[text](path#anchor)` in a .md file of the root or of
docs/; the file is there, and the anchor is one of its headings, as GitHub writes them. Prints a line for everything that is
found, then fails.
"""

import os.path
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


PAGES = ("*.md", "docs/**/*.md")
FENCED = re.compile(r"^(```|~~~).*?^\1", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"^ {4}.*", re.MULTILINE)
CODE = re.compile(r"`[^`\n]*`")
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(.*?)(?:\s+#+)?\s*$", re.MULTILINE)
LINK = re.compile(r"\]\((?![a-z]+:)([^\s()#]*)(?:#([^\s()]*))?\)")


def without(pattern, text):
    """The text with its lines where they were, blank where `pattern` is."""
    return pattern.sub(lambda match: "\n" * match.group().count("\n"), text)


def anchors(text):
    """What GitHub calls the headings of a page."""
    names, seen = set(), {}
    for heading in HEADING.findall(without(FENCED, text)):
        shown = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading)
        name = re.sub(r"[^\w\- ]", "", shown.lower()).replace(" ", "-")
        count = seen[name] = seen.get(name, -1) + 1
        names.add(f"{name}-{count}" if count else name)
    return names


def stale_links(root):
    """(file, line, what is not there), and how many links there are."""
    stale, count = [], 0
    for page in sorted(page for pattern in PAGES for page in root.glob(pattern)):
        text = page.read_text()
        for pattern in (FENCED, INDENTED, CODE):
            text = without(pattern, text)
        for number, line in enumerate(text.splitlines(), 1):
            for path, anchor in LINK.findall(line):
                count += 1
                target = Path(os.path.normpath(page.parent / path)) if path else page
                name = os.path.relpath(target, root)
                if name.startswith("..") or not target.exists():
                    stale.append((str(page.relative_to(root)), number, name))
                elif anchor and (target.suffix != ".md" or anchor not in anchors(target.read_text())):
                    stale.append((str(page.relative_to(root)), number, f"{name}#{anchor}"))
    return stale, count


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
    repository = Path(sys.argv[1])
    paths, checked_paths = stale_paths(repository)
    links, checked_links = stale_links(repository)
    for where, at, what in paths + [link for link in links if link not in paths]:
        print(f"{where}:{at}: there is no {what}")
    print(f"{checked_paths} paths and {checked_links} links checked")
    sys.exit(1 if paths or links or checked_paths == 0 or checked_links == 0 else 0)
