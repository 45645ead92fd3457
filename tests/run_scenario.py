#!/usr/bin/env python3
"""Runs golden transcripts: commands and what they must print.

    # What this shows.
    $ goodput trace info samples/tiny.csv
    ops  24
    $ goodput trace info absent.csv
    error: absent.csv: no such file
    [exit 1]

A line `$ ...` is a bash command (`goodput` is the built one); below it stand its stdout and stderr together, and
`[exit N]` when N is not 0. It runs in an empty folder, the same one for a whole file, where `samples` (also $SAMPLES)
is traces/samples. `[..]` within an expected line stands for anything, for what differs from build to build only.
Lines that begin with `# ` before a command are comments, and so are blank lines there. In the comment on top,
`# needs: parquet` keeps a scenario out of builds without Parquet.

    run_scenario.py --goodput build/dev/goodput [--without parquet] [--regolden] FILE...

--regolden writes what came out into the files instead of comparing; review the difference before committing it.
"""

import argparse
import difflib
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
SKIPPED = 77  # what ctest takes for skipped


def parse(text):
    """Returns the lines on top and the commands as [command, expected lines, comment lines that follow]."""
    top, steps = [], []
    for line in text.splitlines():
        if line.startswith("$ "):
            steps.append([line[2:], [], []])
        elif not steps:
            top.append(line)
        else:
            steps[-1][1].append(line)
    for step in steps:
        while step[1] and (not step[1][-1].strip() or step[1][-1].startswith("# ")):
            step[2].insert(0, step[1].pop())
    return top, steps


def run(command, folder, goodput):
    environment = {name: os.environ[name] for name in os.environ if name.startswith(("ASAN", "LSAN", "UBSAN", "ARROW"))}
    environment |= {
        "PATH": f"{goodput.parent}:/usr/local/bin:/usr/bin:/bin",
        "SAMPLES": "samples",
        "HOME": folder,
        "LC_ALL": "C.UTF-8",
        "TZ": "UTC",
    }
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        check=False,
    )
    lines = done.stdout.decode(errors="backslashreplace").rstrip("\n").splitlines()
    if done.returncode != 0:
        lines.append(f"[exit {done.returncode}]")
    return lines


def same(expected, actual):
    if "[..]" not in expected:
        return expected == actual
    return re.fullmatch(".*".join(map(re.escape, expected.split("[..]"))), actual) is not None


def keep_wildcards(expected, actual):
    """The actual lines, with the expected one where both are the same but for [..]."""
    if len(expected) != len(actual):
        return actual
    return [before if same(before, now) else now for before, now in zip(expected, actual)]


def play(path, goodput, without, regolden):
    """Returns the exit status for one transcript."""
    top, steps = parse(path.read_text(encoding="utf-8"))
    for feature in without:
        if f"# needs: {feature}" in top:
            print(f"{path}: skipped: built without {feature}")
            return SKIPPED
    if not steps:
        print(f"{path}: no command in it (a line that begins with `$ `)")
        return 1
    differs = False
    written = list(top)
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(ROOT / "traces" / "samples", pathlib.Path(folder, "samples"))
        for command, expected, comment in steps:
            actual = keep_wildcards(expected, run(command, folder, goodput))
            written += [f"$ {command}", *actual, *comment]
            if actual != expected and not regolden:
                differs = True
                print(f"{path}: not what is expected of\n$ {command}")
                print("\n".join(difflib.unified_diff(expected, actual, "expected", "actual", n=3, lineterm="")))
    if regolden:
        path.write_text("\n".join(written) + "\n", encoding="utf-8")
    return 1 if differs else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=pathlib.Path, default=ROOT / "build/release/goodput")
    parser.add_argument("--without", action="append", default=[], metavar="FEATURE")
    parser.add_argument("--regolden", action="store_true")
    parser.add_argument("files", nargs="+", type=pathlib.Path, metavar="FILE")
    arguments = parser.parse_args()
    goodput = arguments.goodput.resolve()
    if not goodput.is_file():
        parser.error(f"{arguments.goodput}: no such program; build it first, or name it with --goodput")
    statuses = {play(path, goodput, arguments.without, arguments.regolden) for path in arguments.files}
    return 1 if 1 in statuses else max(statuses)


if __name__ == "__main__":
    sys.exit(main())
