#!/usr/bin/env python3
"""Compares goodput with the figures that papers print: regenerates the rows of docs/validation.md.

    reproduce_papers.py --goodput build/release/goodput [--paper NAME] [--only PATTERN] [--write | --check]
    reproduce_papers.py --table [--renew]

The rows are in tests/bench/paper_rows, a file per paper. Each is one figure: where the paper prints it, what it says, the band in which
our figure counts as a hit, and how to get ours with the command line. Without an option all rows are run and printed.

  --write   Run all rows and write the JSON of each paper in docs/papers.
  --check   Run all rows; exit 1 if a figure is more than 2 % from the JSON, or on the other side of its band.
  --table   Compare the tables in docs/validation.md with the JSON; --renew writes them. Runs nothing.

Papers whose data is not there are skipped.

Exit status: 0 all is well; 1 something differs; 77 all papers were skipped.
"""
import argparse
import concurrent.futures
import csv
import importlib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
SHARED = pathlib.Path(os.environ.get("GOODPUT_SHARED_DATA", ROOT / "../shared/data"))
VALIDATION = ROOT / "docs/validation.md"
PAPERS = ("lazarus", "pec", "stragglers")  # modules of paper_rows: ROWS, and DATA, the files in SHARED that they need
SAME = 0.02  # relative difference up to which two figures of ours are the same

sys.path.insert(0, str(ROOT / "tests/bench"))


class Goodput:
    """Runs commands of goodput."""

    def __init__(self, binary):
        self.binary = str(binary)
        self.folder = tempfile.TemporaryDirectory()
        self.results = {}
        self.lock = threading.Lock()

    def run_once(self, *arguments):
        """The JSON that a command prints."""
        done = subprocess.run([self.binary, *arguments, "--quiet", "--jobs", "1", "--json", "-"], cwd=ROOT,
                              capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"goodput {' '.join(arguments)}: {done.stderr.strip()}")
        return json.loads(done.stdout)

    def run(self, *arguments):
        """The same, remembered."""
        key = tuple(str(a) for a in arguments)
        with self.lock:
            slot = self.results.setdefault(key, {"lock": threading.Lock()})
        with slot["lock"]:
            if "value" not in slot:
                slot["value"] = self.run_once(*key)
        return slot["value"]

    def file(self, name, content):
        path = pathlib.Path(self.folder.name) / name
        with self.lock:
            path.write_text(json.dumps(content))
        return str(path)

    def simulate(self, scenario, sets=(), options=()):
        """A scenario of configs/scenarios. `sets`: pairs of pointer and value."""
        changes = [f"--set={pointer}={json.dumps(value)}" for pointer, value in sets]
        return self.run("simulate", f"configs/scenarios/{scenario}.json", *changes, *options)

    def trials(self, scenario, sets=()):
        """The same, trial by trial: rows of --trials-csv as dictionaries."""
        path = pathlib.Path(self.folder.name) / f"{abs(hash((scenario, tuple(sets))))}.csv"
        self.simulate(scenario, sets, ("--trials-csv", str(path)))
        with open(path, newline="") as file:
            return list(csv.DictReader(file))


class Row:
    """One figure of a paper.

    paper: what it prints. band: lowest and highest figure of ours that is a hit; None: no limit. ours(goodput): a figure;
    or the ends of a range, of which the paper has one case; or a figure and the ends of its 95 % interval. A range is a
    hit if it overlaps the band. fitted: what was set on
    this row; it does not count. measured: a time on this machine, which differs from run to run. note: the letter of
    its explanation in docs/validation.md.
    """

    def __init__(self, section, what, paper, band, ours, *, fitted="", measured=False, note="", digits=3, unit=""):
        self.section, self.what, self.paper, self.band, self.ours = section, what, paper, band, ours
        self.fitted, self.measured, self.note, self.digits, self.unit = fitted, measured, note, digits, unit

    def result(self, number, goodput):
        ours = self.ours(goodput)
        figures = ours if isinstance(ours, tuple) else (ours,)
        low, high = self.band
        hit = (low is None or max(figures) >= low) and (high is None or min(figures) <= high)
        ours = [float(f"{value:.{self.digits}g}") for value in figures]
        return {"row": number, "section": self.section, "what": self.what, "paper": self.paper,
                "ours": ours if len(set(ours)) > 1 else ours[0], "unit": self.unit, "band": [low, high],
                "verdict": "fitted" if self.fitted else "hit" if hit else "miss", "fitted": self.fitted,
                "measured": self.measured, "note": self.note}


def within(paper, share):
    """The band of figures at most `share` from the paper's."""
    return (round(paper * (1 - share), 6), round(paper * (1 + share), 6))


def evaluate(name, rows, goodput, only):
    chosen = [(f"{name[0].upper()}{i}", row) for i, row in enumerate(rows, 1)]
    chosen = [(number, row) for number, row in chosen if re.search(only, f"{number} {row.section} {row.what}")]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda one: one[1].result(one[0], goodput), chosen))


# ---- Output.

def number(value):
    if isinstance(value, list) and len(value) == 3:
        return f"{number(value[0])} ({number(value[1:])})"
    if isinstance(value, list):
        return f"{number(value[0])} to {number(value[1])}"
    return f"{value:.3g}" if abs(value) < 1000 else f"{value:.0f}"


def shown_band(row):
    low, high = row["band"]
    if low is None:
        return f"<= {number(high)}"
    if high is None:
        return f">= {number(low)}"
    return number(low) if low == high else f"{number(low)} to {number(high)}"


def shown_verdict(row):
    text = {"fitted": f"fitted: {row['fitted']}", "hit": "hit", "miss": "**miss**"}[row["verdict"]]
    return text + (f" ({row['note']})" if row["note"] and row["verdict"] != "fitted" else "")


def table(rows):
    lines = ["| row | section | figure | paper | ours | band | |", "|---|---|---|---|---|---|---|"]
    for row in rows:
        ours = "less" if row["measured"] and row["verdict"] == "hit" else number(row["ours"]) + row["unit"]
        lines.append(f"| {row['row']} | {row['section']} | {row['what']} | {row['paper']} | {ours} | {shown_band(row)} | "
                     f"{shown_verdict(row)} |")
    counted = [row for row in rows if row["verdict"] != "fitted"]
    hits = sum(row["verdict"] == "hit" for row in counted)
    lines += ["", f"{hits} of {len(counted)} predicted figures are in their band; {len(rows) - len(counted)} were fitted."]
    return "\n".join(lines)


def stored(name):
    return ROOT / "docs/papers" / f"{name}.json"


def differences(old, new):
    for before, now in zip(old, new, strict=True):
        if now["measured"]:
            continue
        figures = [row["ours"] if isinstance(row["ours"], list) else [row["ours"]] for row in (before, now)]
        same = len(figures[0]) == len(figures[1]) and all(abs(a - b) <= SAME * abs(a) for a, b in zip(*figures))
        if not same or now["verdict"] != before["verdict"]:
            yield f"{now['row']} {now['what']}: {now['ours']} ({now['verdict']}), not {before['ours']} ({before['verdict']})"


def check_tables(names, renew):
    text = VALIDATION.read_text()
    wanted = text
    for name in names:
        begin, end = f"<!-- papers: {name} -->\n", "<!-- end -->"
        if begin not in text:
            sys.exit(f"docs/validation.md: has no line {begin.strip()}")
        before, rest = wanted.split(begin, 1)
        wanted = before + begin + table(json.loads(stored(name).read_text())["rows"]) + "\n" + end + rest.split(end, 1)[1]
    if renew:
        VALIDATION.write_text(wanted)
    elif wanted != text:
        sys.exit("docs/validation.md: differs from docs/papers; run tests/bench/reproduce_papers.py --table --renew")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--goodput", default=ROOT / "build/release/goodput")
    parser.add_argument("--paper", choices=PAPERS, help="only this paper")
    parser.add_argument("--only", default="", metavar="PATTERN", help="only rows whose number, section or text match")
    for option in ("write", "check", "table", "renew"):
        parser.add_argument(f"--{option}", action="store_true")
    options = parser.parse_args()
    if options.only and (options.write or options.check):
        parser.error("--write and --check need all rows; leave out --only")
    names = [options.paper] if options.paper else PAPERS
    if options.table:
        check_tables(names, options.renew)
        return 0
    skipped = 0
    status = 0
    for name in names:
        paper = importlib.import_module(f"paper_rows.{name}")  # which imports Row from this module
        missing = [file for file in paper.DATA if not (SHARED / file).exists()]
        if missing:
            print(f"{name}: skipped, because {SHARED / missing[0]} is missing")
            skipped += 1
            continue
        results = evaluate(name, paper.ROWS, Goodput(options.goodput), options.only)
        if options.write:
            stored(name).parent.mkdir(exist_ok=True)
            lines = ",\n".join(json.dumps(row) for row in results)
            stored(name).write_text(f'{{"schema": "goodput.paper_rows/1", "rows": [\n{lines}\n]}}\n')
        elif options.check:
            for line in differences(json.loads(stored(name).read_text())["rows"], results):
                print(line)
                status = 1
        if not options.check:
            print(table(results))
    return 77 if skipped == len(names) else status


if __name__ == "__main__":
    sys.modules["reproduce_papers"] = sys.modules["__main__"]
    sys.exit(main())
