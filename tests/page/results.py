"""Results to make pages of: what commands write, and what somebody might have made by hand."""

import json
import subprocess
from pathlib import Path

import planning_results

SAMPLES = Path(__file__).resolve().parent.parent.parent / "traces/samples"
CELLS = 200_000  # of a heat map: 400 data-parallel ranks in 500 stages

SLOW = {"stragglers": [{"kind": "worker-fault", "dp": 3, "stage": 2, "factor": 1.5, "from_step": 2}]}

# name of the page: what writes its result
COMMANDS = {
    "whatif": ["whatif", SAMPLES / "slow_worker.csv.gz", "--fix", "worker=2:2"],
    "gpus": ["whatif", "gpus.csv.gz"],
    "plan-step": ["plan-step", "gpt3-175b-1024-a100"],
    "synth": ["synth", "gpt3-175b-1024-a100", "--stragglers", "slow.json", "--steps", "3", "--out", "gpus.csv.gz"],
    "placement": ["placement", "--nodes", "8", "--slots", "4", "--loads", "90,70,60,50,40,30,20,10"],
    "layers": ["placement", "--nodes", "8", "--slots", "6", "--loads", SAMPLES / "routing_small.csv", "--layers", "0-3"],
    "checkpoint": ["checkpoint", "gpt-s", "--pec-k", "2", "--interval", "50", "--faults", "1200,3400:5"],
    "sizes": ["checkpoint", "gpt-s"],
    "routing": ["routing", "info", SAMPLES / "routing_small.csv"],
    "trace": ["trace", "info", SAMPLES / "small.csv"],
    "spot": ["trace", "info", SAMPLES / "spot_counts.json"],
    "list": ["list", "models"],
    "fleet": ["fleet", "made-fleet/results", "--job-info", "made-fleet/jobs.csv", "--min-steps", "1"],
    **planning_results.COMMANDS,
}


def cells(dp, pp, steps):
    """A map of so many workers and steps: the result of no job, but in the shape of one."""
    slow = [round(1 + (at * 7919 % 1000) / 1000, 3) for at in range(dp * pp)]
    return {"schema": "goodput.whatif/1", "slowdown": 1.5, "waste": 1 / 3, "trace": {"dp_size": dp, "pp_size": pp},
            "slowdown_by_worker": {f"{at // pp}:{at % pp}": slow[at] for at in range(dp * pp)},
            "worker_steps": {"steps_averaged": 2, "from_step": list(range(1, 2 * steps, 2)),
                             "to_step": list(range(2, 2 * steps + 1, 2)),
                             "slowdown": [slow[step:] + slow[:step] for step in range(steps)]}}


def hostile():
    name = "<script>window.pwned = 1</script><img src=x onerror='window.pwned = 1'>\u202egpj.exe\u2066\u200b\u2028 \x07\U000e0041 \u05d0\u05d1"
    return {"schema": "goodput.whatif/1", "version": name, "slowdown": 1.5, "waste": 0.33, "job": {"trial_name": name},
            "trace": {"dp_size": 1, "pp_size": 1, "notes": [name, "x" * 10_000_000]}, "slowdown_by_worker": {"0:0": 1.5},
            "workers": {"rank": [0], "host": [name], "pace": [1.0]}, "slowdown_by_optype": {name: 1.5}, "cleaning": [],
            "root_causes": [{"cause": name, "likely": True, "gain": 1.2, "fix": [name], "evidence": name, "workers": []}],
            "per_step": {"1": {"slowdown": 1.5, "launch_slowdown": 1, "recorded_s": 1, "replayed_s": 1}}}


def without(result, *members):
    return {key: value for key, value in result.items() if key not in members}


def make_pages(goodput, folder):
    """The page of each result, by name."""
    def run(*arguments):
        return subprocess.run([goodput, *map(str, arguments)], cwd=folder, check=True, stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, encoding="utf-8").stdout

    (folder / "slow.json").write_text(json.dumps(SLOW))
    planning_results.write_inputs(folder)
    pages = {}
    run("synth", "--fleet", "12", "--out", "made-fleet")
    for name in sorted(COMMANDS, key=lambda one: one != "synth"):  # which makes a trace for others
        text = run(*COMMANDS[name], "--json", f"{name}.result.json", "--report", f"{name}.html")
        (folder / f"{name}.text").write_text(text, encoding="utf-8")
        pages[name] = folder / f"{name}.html"
    whatif = json.loads((folder / "whatif.result.json").read_text())
    made = {"old": without(whatif, "workers", "worker_steps"), "cells": cells(400, 500, 3),
            # as many steps as whatif keeps of 1024 workers (kMostStepCells)
            "largest": cells(32, 32, 146), "hostile": hostile(),
            "broken": {"schema": "goodput.whatif/1", "trace": None, "slowdown_by_worker": {"0:0": 1.5}, "root_causes": 7},
            "rows": {"schema": "goodput.x/1", "gpu_hours": 188924.2, "mtbf_hours": 48, "rows": [{"at": at, "name": "=1+1"} for at in range(2500)]}}
    for name, result in made.items():
        (folder / f"{name}.result.json").write_text(json.dumps(result))
        run("report", f"{name}.result.json", "--out", f"{name}.html")
        pages[name] = folder / f"{name}.html"
    run("report", "whatif.result.json", "gpus.result.json", "--out", "two.html")
    pages["two"] = folder / "two.html"
    return pages | planning_results.make_pages(run, folder)
