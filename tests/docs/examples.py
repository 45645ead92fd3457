#!/usr/bin/env python3
"""Runs the examples of docs/formats: what their commands print has to be what stands there.

    examples.py REPOSITORY GOODPUT [PAGE.md...]

An example is a block that is indented by four columns and begins with "$ ": commands, and what they print, stdout and stderr
together. `cat NAME` of a file that is not there yet makes it. A line "..." stands for any lines. A page has a folder of its
own to run in, where `configs` and `traces` are those of the repository.
"""

import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path


def examples(text):
    """(command, the lines it prints), in order."""
    found, inside = [], False
    for line in text.splitlines():
        if line.startswith("    $ "):
            found.append((line[6:], []))
            inside = True
        elif line.startswith("    ") and inside:
            found[-1][1].append(line[4:])
        elif line:
            inside = False
    return found


def agrees(expected, printed):
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed if line)) is not None


def check(page, repository, goodput):
    """What does not agree, and how many commands there are."""
    wrong, count = [], 0
    environment = {**os.environ, "PATH": f"{goodput.parent}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        for name in ("configs", "traces"):
            os.symlink(repository / name, Path(folder) / name)
        for command, expected in examples(page.read_text()):
            file = Path(folder) / command.removeprefix("cat ")
            if command.startswith("cat ") and not file.exists():
                file.write_text("\n".join(expected) + "\n")
                continue
            count += 1
            done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            if not agrees(expected, done.stdout.splitlines()):
                wrong.append(f"{page.name}: $ {command}\nprints\n{done.stdout}")
    return wrong, count


if __name__ == "__main__":
    root, program = Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve()
    pages = [Path(page) for page in sys.argv[3:]] or sorted((root / "docs/formats").glob("*.md"))
    results = [check(page, root, program) for page in pages]
    for message in (message for wrong, _ in results for message in wrong):
        print(message)
    print(f"{sum(count for _, count in results)} commands checked")
    sys.exit(1 if any(wrong for wrong, _ in results) or not any(count for _, count in results) else 0)
