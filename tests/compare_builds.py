#!/usr/bin/env python3
"""Whether two builds of goodput say the same, byte for byte but for the revision.

    tests/compare_builds.py OLD NEW [--jobs N] [--only TEXT]

OLD and NEW are goodput binaries. Both run, from this repository's root, every shipped scenario and plan, the samples of
traces/samples, and what comes of them (synthetic traces, conversions, placements, checkpoints): standard output, standard
error, exit code and every file written must be equal. Prints a line a difference and the counts; exits 1 if there is any.
"""

import argparse
import concurrent.futures
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
REVISION = re.compile(rb'("revision":\s*)"[^"]*"')


def commands():
    """(name, arguments): OUT stands for the run's own folder."""
    for path in sorted(ROOT.glob("configs/scenarios/*.json")):
        yield f"simulate {path.stem}", ["simulate", str(path), "--json", "-"]
        yield f"simulate {path.stem}, text", ["simulate", str(path), "--trials", "2", "--timeline", "OUT/t.json",
                                               "--throughput", "OUT/t.csv"]
    for path in sorted(ROOT.glob("configs/plans/*.json")):
        yield f"plan-step {path.stem}", ["plan-step", str(path), "--json", "-"]
        yield f"plan-step {path.stem}, text", ["plan-step", str(path)]
    for plan in ("gpt-s-10", "deepseek-v3-1024"):
        yield f"plan-step, timeline {plan}", ["plan-step", f"configs/plans/{plan}.json", "--timeline", "OUT/t.json"]
    for sample in ("interleaved.json.gz", "slow_worker.csv.gz", "small.csv"):
        path = f"traces/samples/{sample}"
        yield f"whatif {sample}", ["whatif", path, "--json", "-"]
        yield f"whatif {sample}, text", ["whatif", path, "--compat-json", "OUT/c.json"]
        yield f"whatif {sample}, timelines", ["whatif", path, "--timeline", "OUT/t.json.gz",
                                              "--ideal-timeline", "OUT/i.json"]
        yield f"trace info {sample}", ["trace", "info", path, "--json", "-"]
        yield f"trace info {sample}, text", ["trace", "info", path]
        for out in ("t.csv", "t.json", "t.log"):
            yield f"trace convert {sample} {out}", ["trace", "convert", path, f"OUT/{out}"]
    for sample in ("spot_counts.json", "spot_events.csv"):
        yield f"trace info {sample}", ["trace", "info", f"traces/samples/{sample}", "--json", "-"]
    loads = "traces/samples/routing_small.csv"
    yield "routing info", ["routing", "info", loads, "--json", "-"]
    yield "routing info, text", ["routing", "info", loads]
    yield "routing synth", ["routing", "synth", "configs/routing/smartmoe-like.json", "--out", "OUT/r.csv"]
    yield "placement", ["placement", "--nodes", "10", "--slots", "6", "--loads", loads, "--json", "-"]
    yield "placement, text", ["placement", "--nodes", "10", "--slots", "6", "--loads", loads]
    for path in sorted(ROOT.glob("configs/models/*.json")):
        yield f"checkpoint {path.stem}", ["checkpoint", str(path), "--json", "-"]
        yield f"checkpoint {path.stem}, text", ["checkpoint", str(path)]
    yield "synth", ["synth", "configs/plans/gpt-s-10.json", "--out", "OUT/s.csv.gz", "--steps", "3", "--seed", "7"]
    for what in ("formats", "schedules", "cost-models", "policies", "failures", "models", "clusters", "plans", "scenarios",
                 "suites", "calibrations", "fleets", "alert-rules", "commands"):
        yield f"list {what}", ["list", what]
    yield "help", ["--help"]


def outputs_of(binary, arguments):
    """By name, what the binary wrote."""
    with tempfile.TemporaryDirectory() as folder:
        run = subprocess.run([binary] + [a.replace("OUT", folder) for a in arguments], cwd=ROOT, capture_output=True)
        found = {"exit code": str(run.returncode).encode(), "stdout": run.stdout, "stderr": run.stderr}
        for path in sorted(pathlib.Path(folder).iterdir()):
            found[path.name] = path.read_bytes()
        return {name: REVISION.sub(rb"\1", text.replace(folder.encode(), b"OUT")) for name, text in found.items()}


def compare(case, old, new):
    name, arguments = case
    before, after = outputs_of(old, arguments), outputs_of(new, arguments)
    differing = [part for part in sorted(before.keys() | after.keys()) if before.get(part) != after.get(part)]
    return name, before["exit code"] == b"0", len(before), differing


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="commands whose name contains this")
    options = parser.parse_args()
    old, new = (str(pathlib.Path(path).resolve()) for path in (options.old, options.new))
    cases = [case for case in commands() if options.only in case[0]]
    outputs = different = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, succeeded, parts, differing in pool.map(lambda case: compare(case, old, new), cases):
            outputs += parts
            different += len(differing)
            failed += not succeeded
            for part in differing:
                print(f"differs: {name}: {part}")
            if not succeeded:
                print(f"failed in OLD: {name}")
    print(f"{len(cases)} commands, {outputs} outputs, {different} different, {failed} commands failed")
    return 1 if different or failed else 0


if __name__ == "__main__":
    sys.exit(main())
