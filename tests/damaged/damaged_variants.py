#!/usr/bin/env python3
"""Property test: goodput whatif answers a damaged trace rightly or refuses it, never wrongly.

    damaged_variants.py --goodput build/release/goodput [--count 2000] [--seed N] [--jobs 2] [--keep DIR]
    damaged_variants.py --goodput ... --seed N --variant INDEX --keep DIR     one variant again, with its files
    damaged_variants.py --goodput ... --only KIND                             one kind of damage, alone

Base jobs come from `goodput synth`. A variant is a base job, written as CSV or as raw logs, into one file or one a
host, with starts that count from the begin of each step or from one origin, with or without ids and metadata, and with
one to three kinds of damage (damage_kinds.py). The seed, the index, and --only determine it.

What comes out is
  right    exit code 0; the shape of the job is right; S, the slowdowns by worker, and the share of late launches are
           those that whatif finds in the clean trace of the steps that the answer used; and the verdict blames no
           worker and no late launches that the clean trace clears
  refused  exit code 1 and one line of error
  wrong    exit code 0 and anything else
  crashed  any other exit code, an error of more than one line, or more than a minute

Some kinds are changes that a job may really go through, not damage; the clean trace has them, too. Without metadata, an
answer for fewer replicas than the job has is right if it is right for these: nothing tells that there were more.

Exits 1 if anything is wrong or crashed, or if fewer than 45 % of the variants are answered.
"""

import argparse
import collections
import concurrent.futures
import functools
import json
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile

from damage_kinds import FILES, KINDS, REAL, ROWS
from synthetic_jobs import RecordedJob, copies, read_base, write_base

BASES = 40
LEAST_ANSWERED = 0.45
TIMEOUT_S = 60
SLOWDOWN_TOLERANCE = 1e-3
WORKER_TOLERANCE = 2e-3
LAUNCH_TOLERANCE = 5e-3
VERDICT_MARGIN = 0.01  # causes whose gains are so close may change places
UNEXPLAINED_FROM = 1.05  # S from which whatif has a verdict without a likely cause


def base_of(seed, index):
    return random.Random(f"{seed}/base of/{index}").randrange(BASES)


def draw_variant(seed, index, only, bases):
    """The damaged job of this index, with its files in memory."""
    draw = random.Random(f"{seed}/variant/{index}")
    number = base_of(seed, index)
    wanted = [only] if only else draw.sample(list(KINDS), draw.choice([1, 1, 2, 2, 3]))
    wanted.sort(key=list(KINDS).index)
    job = RecordedJob(number, read_base(number, bases), draw, any(KINDS[name].csv_only for name in wanted))
    for phase in (REAL, ROWS, FILES):
        if phase == ROWS:
            job.truths = [copies(job.rows)]
            if job.absolute:
                job.lay_out(draw.choice([0.0, 0.05, 2.0]))
        if phase == FILES:
            job.write_files()
        for name in wanted:
            if KINDS[name].phase == phase and job.rows and KINDS[name].function(job, draw):
                job.kinds.append(name)
    return job


# ---- Running goodput


def run_whatif(goodput, arguments):
    """Exit code (None: too slow), stdout, stderr."""
    command = [goodput, "whatif", *arguments, "--json", "-", "--jobs", "1"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=TIMEOUT_S)
    except subprocess.TimeoutExpired:
        return None, "", "too slow"
    return done.returncode, done.stdout, done.stderr


known_truths = {}  # of unchanged bases; every process has its own


def truth_of(goodput, job, number, steps, dp, folder):
    """whatif's answer for these steps and this many replicas of a clean trace; None if it refuses them."""
    is_base = number == 0 and not any(KINDS[name].phase == REAL for name in job.kinds)
    key = (job.base_number, steps, dp)
    if is_base and key in known_truths:
        return known_truths[key]
    rows = [row for row in job.truths[number] if row.step in steps and row.dp_rank < dp]
    path = folder / "clean.csv"
    path.write_text(job.csv_text(rows, has_ids=True))
    code, text, _ = run_whatif(goodput, [path, "--align-clocks", "off"])
    answer = json.loads(text) if code == 0 else None
    if is_base:
        known_truths[key] = answer
    return answer


# ---- Right or wrong


def workers_of(verdict):
    return {(worker["dp"], worker["stage"]) for worker in verdict["workers"]} if verdict else set()


def suspects_of(truth):
    """Workers and causes of the clean trace's verdict, and of what gains nearly as much."""
    verdict = truth["verdict"]
    workers, causes = workers_of(verdict), {verdict["kind"]} if verdict else set()
    least = verdict["gain"] if verdict and verdict["gain"] else UNEXPLAINED_FROM
    for cause in truth["root_causes"]:
        if cause["gain"] and cause["gain"] >= least - VERDICT_MARGIN:
            causes.add(cause["cause"])
            workers |= {tuple(map(int, worker["worker"].split(":"))) for worker in cause["workers"]}
    return workers, causes


def is_off(value, truth, tolerance):
    return value is None or truth is None or not abs(value - truth) <= tolerance * abs(truth)


def compare(answer, truth, tolerance):
    """What is wrong with an answer, or None."""
    if answer["per_step"].keys() != truth["per_step"].keys():
        return "uses steps that the clean trace's answer leaves out"
    if is_off(answer["slowdown"], truth["slowdown"], tolerance):
        return f"slowdown {answer['slowdown']} instead of {truth['slowdown']:.5f}"
    for worker, slowdown in truth["slowdown_by_worker"].items():
        found = answer["slowdown_by_worker"].get(worker)
        if is_off(found, slowdown, max(WORKER_TOLERANCE, tolerance)):
            return f"worker {worker} {found} instead of {slowdown:.5f}"
    if is_off(answer["launch_slowdown"], truth["launch_slowdown"], LAUNCH_TOLERANCE):
        return f"launch slowdown {answer['launch_slowdown']} instead of {truth['launch_slowdown']:.5f}"
    verdict = answer["verdict"]
    workers, causes = suspects_of(truth)
    if workers_of(verdict) - workers:
        return f"verdict {verdict['kind']} names {sorted(workers_of(verdict))}, not {sorted(workers)}"
    if verdict and verdict["kind"] == "launch-delay" and "launch-delay" not in causes:
        return f"verdict {verdict['kind']}, not {sorted(causes)}"
    return None


def mistake(goodput, job, answer, folder):
    """What is wrong with an answer, or None."""
    trace, base = answer["trace"], job.base
    dp, pp, vpp = trace["dp_size"], trace["pp_size"], trace["vpp_size"]
    if (pp, vpp) != (base.pp, base.vpp) or dp > base.dp or (dp < base.dp and job.has_meta):
        return f"DP {dp} x PP {pp} x VPP {vpp} instead of DP {base.dp} x PP {base.pp} x VPP {base.vpp}"
    says_set = any(found["rule"] == "clock-set" for found in answer["cleaning"])
    if says_set or any(clock["jumps"] for clock in answer["clocks"]):
        if not any(KINDS[name].phase == ROWS for name in job.kinds):
            return "a clock is said to be set"
    steps = frozenset(int(step) for step in answer["per_step"])
    tolerance = max([SLOWDOWN_TOLERANCE] + [KINDS[name].tolerance for name in job.kinds])
    mistakes = []
    for number in range(len(job.truths)):
        truth = truth_of(goodput, job, number, steps, dp, folder)
        found = compare(answer, truth, tolerance) if truth else "the clean trace of these steps is refused"
        if not found:
            return None
        mistakes.append(found)
    return f"{' or '.join(mistakes)} (steps {','.join(map(str, sorted(steps)))}; DP {dp} x PP {pp} x VPP {vpp})"


def classify(goodput, job, arguments, folder):
    """What came out, and a line about it."""
    code, text, errors = run_whatif(goodput, arguments)
    if code == 0:
        found = mistake(goodput, job, json.loads(text), folder)
        return ("wrong", found) if found else ("right", "")
    lines = [line for line in errors.splitlines() if not line.startswith("note: ")]
    if code == 1 and len(lines) == 1 and lines[0].startswith("error: "):
        return "refused", lines[0]
    return "crashed", f"exit code {code}: {errors[:300]!r}"


def run_variant(goodput, seed, index, only, bases, kept):
    job = draw_variant(seed, index, only, bases)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arguments = job.save(folder)
        outcome, about = classify(goodput, job, [folder / name if "." in name else name for name in arguments], folder)
        if kept and outcome in ("wrong", "crashed"):
            target = kept / "+".join(job.kinds).replace(" ", "-") / str(index)
            shutil.copytree(folder, target, dirs_exist_ok=True)
            (target / "about.txt").write_text(f"{about}\ngoodput whatif {' '.join(arguments)} --json -\n")
    return job.kinds, outcome, about


# ---- Report


def print_table(results):
    counts = collections.defaultdict(collections.Counter)
    for kinds, outcome in results:
        for name in [*(kinds or ["none"]), "all variants"]:
            counts[name][outcome] += 1
    outcomes = ["right", "refused", "wrong", "crashed"]
    print(f"{'damage':<46}" + "".join(f"{outcome:>8}" for outcome in outcomes))
    for name in [*KINDS, "none", "all variants"]:
        if name in counts:
            print(f"{name:<46}" + "".join(f"{counts[name][outcome]:>8}" for outcome in outcomes))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--goodput", type=pathlib.Path, required=True)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--variant", type=int, metavar="INDEX", help="this variant only")
    parser.add_argument("--only", choices=list(KINDS), metavar="KIND", help="this kind of damage only, alone")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="keep the files of what is wrong here")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--verbose", action="store_true", help="a line for every variant")
    options = parser.parse_args()
    goodput, seed, only = options.goodput.resolve(), options.seed, options.only
    indices = range(options.count) if options.variant is None else [options.variant]
    again = f"--seed {seed}" + (f" --only '{only}'" if only else "")
    print(f"seed {seed}", flush=True)
    results = []
    with tempfile.TemporaryDirectory() as name, concurrent.futures.ProcessPoolExecutor(options.jobs) as pool:
        bases = pathlib.Path(name)
        list(pool.map(functools.partial(write_base, goodput, bases, seed), sorted({base_of(seed, i) for i in indices})))
        runs = [pool.submit(run_variant, goodput, seed, i, only, bases, options.keep) for i in indices]
        for index, run in zip(indices, runs):
            kinds, outcome, about = run.result()
            results.append((kinds, outcome))
            if options.verbose or outcome in ("wrong", "crashed"):
                print(f"{outcome} {again} --variant {index} [{', '.join(kinds)}] {about}", flush=True)
    print_table(results)
    outcomes = collections.Counter(outcome for _, outcome in results)
    answered = (outcomes["right"] + outcomes["wrong"]) / len(results)
    print(f"answered {100 * answered:.1f} %")
    too_few = options.variant is None and not only and answered < LEAST_ANSWERED
    return 1 if outcomes["wrong"] or outcomes["crashed"] or too_few else 0


if __name__ == "__main__":
    sys.exit(main())
