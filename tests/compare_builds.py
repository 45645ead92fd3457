#!/usr/bin/env python3
"""Whether two builds of goodput say the same, byte for byte but for the revision.

    tests/compare_builds.py OLD NEW [--jobs N] [--only TEXT] [--show] [--but-words]

OLD and NEW are goodput binaries. Both run, from this repository's root, every shipped scenario and plan, the samples of
traces/samples, and what comes of them (synthetic traces, conversions, placements, checkpoints), planning, sweeps, checks,
fleets and a monitor: standard output, standard error, exit code and every file written must be equal, but for the times at
which a monitor ran. Prints a line per difference and the counts; exits 1 if there is any. --show prints the differing lines. --but-words, after a change
of texts, compares JSON without its texts (strings with a space), and of anything else which numbers it has.
"""

import argparse
import concurrent.futures
import difflib
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What no two runs have in common: the revision, alone or behind the version, and the times at which a monitor ran.
OF_THE_RUN = re.compile(rb'\b\d+\.\d+\.\d+ \([0-9a-f]+(?:-dirty)?\)|("(?:revision|received|finished|received_s|finished_s|opened_s|closed_s|lag_s)":\s*)(?:"[^"]*"|[\d.e+-]+)|\b1[6-9]\d{8}\.\d+')
# A straggler of every kind that synth has, and two at once.
STRAGGLERS = {
    "healthy": [],
    "worker": [{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5, "from_step": 4}],
    "replica": [{"kind": "worker-fault", "dp": 1, "stage": stage, "factor": 1.3} for stage in range(4)],
    "stage": [{"kind": "stage-partition", "stage": 3, "factor": 1.4}],
    "sequence": [{"kind": "sequence-length"}],
    "pauses": [{"kind": "gc-pauses", "pause_s": 0.5, "every_steps": 3}],
    "launches": [{"kind": "launch-delay", "mean_s": 0.02, "ops": "all"}],
    "link": [{"kind": "communication-flap", "dp": 0, "stage": 1, "share": 0.2, "factor": 200}],
    "two workers": [{"kind": "worker-fault", "dp": 0, "stage": 1, "factor": 1.4},
                    {"kind": "worker-fault", "dp": 1, "stage": 3, "factor": 1.3}],
    "worker and stage": [{"kind": "worker-fault", "dp": 0, "stage": 0, "factor": 1.4},
                         {"kind": "stage-partition", "stage": 2, "factor": 1.3}],
}


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
    ranks = "traces/samples/fsdp_slow_rank"
    yield "whatif fsdp_slow_rank", ["whatif", ranks, "--json", "-"]
    yield "whatif fsdp_slow_rank, text", ["whatif", ranks]
    yield "whatif fsdp_slow_rank, timelines", ["whatif", ranks, "--timeline", "OUT/t.json.gz", "--ideal-timeline", "OUT/i.json"]
    yield "trace info fsdp_slow_rank", ["trace", "info", ranks, "--json", "-"]
    yield "trace info fsdp_slow_rank, text", ["trace", "info", ranks]
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
    for kind, stragglers in STRAGGLERS.items():
        text = json.dumps({"stragglers": stragglers})
        trace = ["synth", "llama3-70b-h100", "--stragglers", "OUT/slow.json", "--steps", "8", "--out", "OUT/t.csv.gz", "--quiet"]
        yield f"whatif, synthetic {kind}", {"slow.json": text}, trace, ["whatif", "OUT/t.csv.gz", "--json", "OUT/r.json"]
    slow = {"slow.json": json.dumps({"stragglers": STRAGGLERS["worker"]}), "logs/pretraining/meta.yaml": "vpp_size: 5\n"}
    log = ["synth", "llama3-70b-h100", "--stragglers", "OUT/slow.json", "--steps", "16", "--out", "OUT/logs/pretraining/rank0.log",
           "--quiet"]
    yield ("monitor", slow, log, ["monitor", "OUT/logs/pretraining", "--once", "--db", "OUT/m.sqlite", "--no-pages"],
           ["monitor", "export", "OUT/m.sqlite", "--json", "-"],
           ["monitor", "export", "OUT/m.sqlite", "--table", "OUT/steps.csv", "--workers", "OUT/workers.csv", "--quiet"],
           ["fleet", "OUT/m.sqlite", "--min-steps", "1", "--json", "-"])
    yield ("fleet", {}, ["synth", "--fleet", "12", "--out", "OUT/fleet", "--quiet"],
           ["fleet", "OUT/fleet/results", "--job-info", "OUT/fleet/jobs.csv", "--json", "-"],
           ["fleet", "OUT/fleet/results", "--job-info", "OUT/fleet/jobs.csv", "--tables", "OUT/tables"])
    yield "plan", ["plan", "llama3-70b-1024", "--plans", "2", "--spares", "0,2", "--max-trials", "32", "--out", "OUT/answer"]
    yield ("sweep", {}, ["sweep", "controlled-5min-gpt-s", "--vary", "/failures/every_s=200,300", "--out", "OUT/sweep"])
    yield "check", ["check", "smoke", "--json", "-"]
    yield "check, text", ["check", "smoke", "--report", "OUT/r.html"]
    for what in ("formats", "schedules", "cost-models", "policies", "failures", "models", "clusters", "stacks", "plans", "scenarios",
                 "suites", "calibrations", "fleets", "alert-rules", "commands"):
        yield f"list {what}", ["list", what]
    yield "help", ["--help"]


def write_files(folder, files):
    for name, text in files.items():
        path = pathlib.Path(folder) / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def outputs_of(binary, files, runs):
    """Whether all runs succeeded, and by name what they wrote."""
    with tempfile.TemporaryDirectory() as folder:
        write_files(folder, files)
        found, succeeded = {}, True
        for number, arguments in enumerate(runs):
            run = subprocess.run([binary] + [a.replace("OUT", folder) for a in arguments], cwd=ROOT, capture_output=True,
                                 env={**os.environ, "GOODPUT_CONFIGS": str(ROOT / "configs")})
            succeeded = succeeded and run.returncode == 0
            found |= {f"{number} exit code": str(run.returncode).encode(), f"{number} stdout": run.stdout,
                      f"{number} stderr": run.stderr}
        for path in sorted(pathlib.Path(folder).rglob("*")):
            # Of a database its export tells what is in it, of a Parquet file, which is compressed, the CSV beside it.
            if path.is_file() and ".sqlite" not in path.name and path.suffix != ".parquet":
                found[str(path.relative_to(folder))] = path.read_bytes()
        return succeeded, {name: OF_THE_RUN.sub(rb"\1", text.replace(folder.encode(), b"OUT")) for name, text in found.items()}


def without_texts(value):
    if isinstance(value, dict):
        return {key: without_texts(member) for key, member in value.items()}
    if isinstance(value, list):
        return [without_texts(member) for member in value]
    return "TEXT" if isinstance(value, str) and " " in value else value


def but_words(output):
    """JSON without its texts; of other outputs the numbers, each once."""
    try:
        return json.dumps(without_texts(json.loads(output)), indent=1).encode()
    except ValueError:
        return b"\n".join(sorted(set(re.findall(rb"(?<![\w.])\d+(?:[.,]\d+)*(?:e[-+]?\d+)?", output))))


def compare(case, old, new, show, words):
    name, *runs = case
    files = runs.pop(0) if isinstance(runs[0], dict) else {}
    succeeded, before = outputs_of(old, files, runs)
    _, after = outputs_of(new, files, runs)
    if not words:
        before, after = ({name: but_words(output) for name, output in of.items()} for of in (before, after))
    differing = [part for part in sorted(before.keys() | after.keys()) if before.get(part) != after.get(part)]
    lines = []
    for part in differing if show else []:
        texts = [(of.get(part) or b"").decode(errors="replace").splitlines() for of in (before, after)]
        lines += [line for line in difflib.unified_diff(*texts, lineterm="", n=0) if not line.startswith(("---", "+++", "@@"))]
    return name, succeeded, len(before), differing, lines


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old")
    parser.add_argument("new")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", default="", help="commands whose name contains this")
    parser.add_argument("--show", action="store_true", help="print the lines that differ")
    parser.add_argument("--but-words", action="store_true", help="compare numbers, JSON keys and names, not texts")
    options = parser.parse_args()
    old, new = (str(pathlib.Path(path).resolve()) for path in (options.old, options.new))
    cases = [case for case in commands() if options.only in case[0]]
    outputs = different = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, succeeded, parts, differing, lines in pool.map(lambda case: compare(case, old, new, options.show, not options.but_words), cases):
            outputs += parts
            different += len(differing)
            failed += not succeeded
            for part in differing:
                print(f"differs: {name}: {part}")
            for line in lines:
                print(f"    {line}")
            if not succeeded:
                print(f"failed in OLD: {name}")
    print(f"{len(cases)} commands, {outputs} outputs, {different} different, {failed} commands failed")
    return 1 if different or failed else 0


if __name__ == "__main__":
    sys.exit(main())
