"""Kills a sweep at random moments: only points in flight are lost, and the results are those of one that nobody disturbed.

    kill_test.py --goodput PROGRAM [--kills 100] [--seed N]
"""

import argparse
import functools
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SCENARIO = {"plan": "lazarus-gpt-s",
            "failures": {"model": "exponential", "nodes": 12, "mtbf_hours": 10, "repair_s": 600},
            "samples": 50000, "trials": 20, "policies": {"checkpoint": {"checkpoint": {}}, "gemini": {"checkpoint": {}}}}
VARY = ["--vary", "/failures/mtbf_hours=0.5..100.0/100:log",
        "--vary", "/policies/checkpoint/checkpoint/interval_steps=10..2000/10"]
RESULTS = ("results.csv", "summary.csv", "results.parquet")
JOBS = 2


class Wrong(Exception):
    """Something is not as it should be."""


def check(is_so, what):
    if not is_so:
        raise Wrong(what)


def journal_lines(folder):
    """All lines of the journal, of which the last may be torn."""
    for name in ("0-of-1.jsonl", "0-of-1.jsonl.part"):
        try:
            return (folder / "shards" / name).read_bytes().splitlines(keepends=True)
        except FileNotFoundError:
            pass
    return []


@functools.cache
def point_of(line):
    return json.loads(line)["point"]


def points(lines):
    """The numbers of the points in it, in its order; the first line is of the sweep."""
    return [point_of(line) for line in lines[1:]]


def check_after_kill(before, after, all_points):
    """Of lines that were whole before the run none is gone, and of the points that it began all but those in flight are there."""
    whole = [line for line in after if line.endswith(b"\n")]
    check(len(after) - len(whole) <= 1, "more than the last line is torn")
    check(whole[:len(before)] == before, "lines of an earlier run are gone")
    earlier, there = points(before), points(whole)
    check(len(set(there)) == len(there), f"a point is there twice: {there}")
    done = set(earlier)
    left = [point for point in range(all_points) if point not in done]
    new = there[len(earlier):]
    if new:  # points are begun in their order
        begun = 1 + max(left.index(point) for point in new)
        check(begun - len(new) < JOBS, f"of {begun} points that were begun {begun - len(new)} are lost, with {JOBS} threads")
    return whole


def kill_at_random(command, folder, kills, chance, all_points, pause):
    """How many of the kills came after all points were done."""
    lines, late = [], 0
    for number in range(kills):
        process = subprocess.Popen([*command, "--out", folder, "--resume"], stdout=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, pause))
        process.send_signal(signal.SIGKILL)
        code = process.wait()
        check(code in (0, -signal.SIGKILL), f"run {number} ends with {code}")
        late += len(lines) == all_points + 1
        lines = check_after_kill(lines, journal_lines(folder), all_points)
        print(f"kill {number}: {max(0, len(lines) - 1)} points", flush=True)
    return late


def run(goodput, kills, seed, top):
    chance = random.Random(seed)
    scenario = top / "job.json"
    scenario.write_text(json.dumps(SCENARIO))
    command = [goodput, "sweep", scenario, *VARY, "--jobs", str(JOBS)]
    begin = time.monotonic()
    subprocess.run([*command, "--out", top / "whole"], check=True, stdout=subprocess.DEVNULL)
    whole_s = time.monotonic() - begin
    all_points = len(points(journal_lines(top / "whole")))
    late = kill_at_random(command, top / "killed", kills, chance, all_points, pause=3 * whole_s / kills + 0.03)
    subprocess.run([*command, "--out", top / "killed", "--resume"], check=True, stdout=subprocess.DEVNULL)
    lines = journal_lines(top / "killed")
    check(sorted(points(lines)) == list(range(all_points)), "points are missing")
    for name in RESULTS:
        if not (top / "whole" / name).exists():
            continue
        check((top / "killed" / name).read_bytes() == (top / "whole" / name).read_bytes(), f"{name} differs")
    print(f"{all_points} points in {whole_s:.1f} s undisturbed; {kills} kills, {late} of them while results were written")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=Path, required=True)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(options.goodput.resolve(), options.kills, options.seed, Path(folder))
        except Wrong as wrong:
            sys.exit(f"failed: {wrong}")


if __name__ == "__main__":
    main()
