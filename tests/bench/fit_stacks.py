#!/usr/bin/env python3
"""Fits the stacks of configs/stacks to published measured steps, and says how far off they are on steps not fitted.

    fit_stacks.py --goodput build/release/goodput --data FOLDER [--write | --left-out | --draws N | --mechanisms]

FOLDER holds public_steps_open.csv and the two tables of vTrain. --write fits the stacks and writes them with the rows
that their ranges rest on. --left-out fits again without each model of a stack, and without each family, and reports
errors and how many measured steps fall into the predicted ranges. --draws fits N times to five random rows of one
stack, model, GPU and precision, and reports the error on the others. --mechanisms fits again without each of the
mechanisms that the stacks name. Without any: the errors of the shipped stacks, and how steps grow with more replicas.
"""
import argparse
import collections
import contextlib
import copy
import csv
import io
import json
import pathlib
import random
import re
import statistics
import subprocess
import tempfile

SPREAD = ("chosen to match how much published steps grow with the number of GPUs (docs/validation.md); includes the "
          "spread of hosts")
HOP = "NCCL 2.19 src/graph/tuning.cc: latency of a ring's step over the network with protocol Simple"
SMS = "assumed: NCCL runs 16 to 32 channels, a multiprocessor each, over NVLink and eight NICs"
FLASH_2_A100 = ("FlashAttention-2 (arXiv 2307.08691): forward and backward with a causal mask reach 60 % of the "
                "rating; the fill is assumed")
FLASH_2_H100 = ("FlashAttention-2 (arXiv 2307.08691, section 4.1): up to 335 TFLOP/s on H100, whose instructions it "
                "does not use; the fill is assumed")
STACKS = pathlib.Path(__file__).resolve().parents[2] / "configs/stacks"
FSDP = {"overlap_grad_reduce": True, "overlap_param_gather": True, "overlap_p2p": True, "fp8_recipe": "delayed",
        "loss": "fp32", "gradient_bytes": 4}
NVIDIA = {"overlap_tp_reduce": True, "tp_overlap": "sliced", "overlap_cp": True, "overlap_grad_reduce": True,
          "overlap_param_gather": True, "overlap_p2p": True, "fp8_recipe": "delayed", "gradient_bytes": 2,
          "dispatch_bytes": 2, "expert_matmuls": "grouped"}
# Stated, not fitted.
STATED = {
    "sources": {
        "speed_spread": SPREAD,
        "collective_sms": SMS, "bulk_hop_us": HOP},
    "speed_spread": 0.03, "collective_sms": 20, "bulk_hop_us": 14}
FLASH_2 = [
    {"source": FLASH_2_A100, "gpus": ["A100", "A800"],
     "efficiency": {"attention_efficiency": 0.6, "attention_fill": 200}},
    {"source": FLASH_2_H100, "gpus": ["H100", "H200", "H800"],
     "efficiency": {"attention_efficiency": 0.34, "attention_fill": 200}}]
# Stacks that are fitted, parents first.
FITTED = {
    "llm-foundry": {
        "own": {"kernels": FLASH_2, "efficiency": {**STATED, "speed_spread": 0.05}, "defaults": FSDP},
        "source": "LLM-Foundry (FSDP). Fitted by goodput fit-steps to {rows} published rows: MPT 125M, 350M, 7B and 30B "
                  "on A100 and H100 (mosaicml/llm-foundry 8c8dd48, scripts/train/benchmarking/README.md)"},
    "nemo": {
        "own": {"efficiency": STATED, "defaults": NVIDIA}, "parameters": ["gemm", "fp8_gemm", "memory"],
        "release": "25.02",
        "source": "NVIDIA NeMo. Fitted by goodput fit-steps to {rows} published rows: Llama 3.1 8B and 405B and "
                  "GPT-3 175B on H100, in bf16 and fp8 (NVIDIA's benchmark recipes)"},
    "megatron-bridge": {
        "own": {"defaults": {"fp8_recipe": "mx", "etp": 1, "dispatcher": "hierarchical"}}, "parameters": ["gemm"], "gpus": ["B200", "GB200", "B300", "GB300"],
        "parent": "nemo", "release": "25.09 to 26.08",
        "source": "NVIDIA Megatron-Bridge. Fitted by goodput fit-steps to {rows} published rows: Llama 3 70B on "
                  "GB200 (NVIDIA-NeMo/Megatron-Bridge 067f987, performance summary)"},
    "torchtitan": {
        "own": {"factors": {"attention": 1},
                "efficiency": {"sources": {"speed_spread": SPREAD}, "speed_spread": 0.03},
                "defaults": {"tp_overlap": "sliced", "selective_recompute": "every_second_matmul", "fp8_recipe": "current",
                             "reshard_after_forward": "unless_pp", "etp": 1, "dispatch_bytes": 2,
                             "expert_matmuls": "grouped"}},
        "parent": "llm-foundry", "parameters": ["gemm"],
        "source": "TorchTitan (FSDP2). Fitted by goodput fit-steps to {rows} published rows: Llama 3 8B in bf16 on "
                  "H100 GPUs of 500 W"},
}
AUTOMODEL = {
    "name": "automodel", "parent": "torchtitan", "tier": "assumed",
    "source": "NVIDIA NeMo AutoModel, as TorchTitan, with DeepEP: nothing is fitted",
    "defaults": {"dispatcher": "hierarchical"}}
PARENT = {"llm-foundry": None, "nemo": None, "megatron-bridge": "nemo", "torchtitan": "llm-foundry",
          "automodel": "torchtitan"}
DENSE = {"dense, A100 and H100": ("A100", "H100"), "dense, Blackwell": ("Blackwell",)}
AT_BOUND = "at the physical limit: these steps have costs or savings that goodput does not model"


def family(row):
    moe = row["experts"] not in ("", "0") or row["model"] in ("deepseek-v3", "grok1")
    gpu = next(g for p, g in (("A100", "A100"), ("H100", "H100"), ("GB", "Blackwell")) if row["cluster"].startswith(p))
    return ("MoE" if moe else "FSDP" if row["zero"] == "3" else "TP/PP", gpu,
            "fp8" if row["dtype"] == "fp8" else "16 bit")


def mean(errors):
    return 100 * statistics.fmean(abs(e) for e in errors)


class Runs:
    def __init__(self, goodput, data, folder):
        self.goodput, self.data, self.folder = goodput, pathlib.Path(data), pathlib.Path(folder)
        with open(self.data / "public_steps_open.csv") as file:
            self.rows = list(csv.DictReader(file))
        plan = {"model": "llama3-8b", "cluster": "dgx-h100",
                "parallel": {"zero": 1, "global_batch": 128, "sequence_length": 8192}}
        (self.folder / "base.json").write_text(json.dumps(plan))
        plan["parallel"] |= {k: v for k, v in FSDP.items() if k.startswith("overlap")}
        (self.folder / "overlapped.json").write_text(json.dumps(plan))

    def run(self, *arguments):
        return subprocess.run([self.goodput, *map(str, arguments)], check=True, capture_output=True, text=True).stdout

    def table(self, rows):
        """Without the column `stack`: --stack names it."""
        path = self.folder / "rows.csv"
        with open(path, "w") as file:
            writer = csv.writer(file)
            writer.writerow("software" if key == "stack" else key for key in self.rows[0])
            writer.writerows(row.values() for row in rows)
        return path

    def stated(self, stack, parent):
        """The path of a stack with what FITTED states of this one, and nothing fitted."""
        own = FITTED.get(stack, {"own": {"defaults": AUTOMODEL["defaults"]}})["own"]
        path = self.folder / f"{stack}.lone.json"
        path.write_text(json.dumps({"name": "lone", **({"parent": str(parent)} if parent else {}), **own}))
        return path

    def fit(self, stack, rows, parent, out):
        parent = self.stated(stack, parent)
        chosen = [x for p in FITTED.get(stack, {}).get("parameters", []) for x in ("--parameter", p)]
        return json.loads(self.run("fit-steps", self.table(rows), "--stack", parent, "--out", out, *chosen,
                                   "--json", "-"))

    def predict(self, rows, stack, base="base.json"):
        """By row: error, and the ends of the range over the prediction."""
        result = json.loads(self.run("plan-step", self.folder / base, "--stack", stack, "--batch", self.table(rows),
                                     "--json", "-"))
        return [(r["error"], *(end / r["predicted_ms"] for end in r["step_range_ms"])) for r in result["rows"]]

    def of(self, stack, rows=None):
        return [row for row in (self.rows if rows is None else rows) if row["stack"] == stack]

    def to_fit(self, stack, rows=None):
        """The rows of dense models, if there are any: so that no MoE row is fitted."""
        own = self.of(stack, rows) if stack in FITTED else []
        return [row for row in own if family(row)[0] != "MoE"] or own

    def fit_all(self, rows, needed):
        """Paths of stacks fitted to these rows. One without rows is its parent, or what it states if it is never fitted."""
        stacks = {}
        for stack, parent in PARENT.items():
            if stack not in needed:
                continue
            own = self.to_fit(stack, rows)
            if own:
                stacks[stack] = self.folder / f"{stack}.json"
                self.fit(stack, own, stacks.get(parent), stacks[stack])
            else:
                stacks[stack] = stacks[parent] if stack in FITTED else self.stated(stack, stacks[parent])
        return stacks


def needed_for(stack):
    return [stack, *needed_for(PARENT[stack])] if stack else []


# ---- Writing configs/stacks.

def write(file, stack, left_out):
    text = json.dumps(stack, indent=2)
    lines = ",\n".join("    " + json.dumps(entry, separators=(",", ":")) for entry in left_out)
    (STACKS / f"{file}.json").write_text(f'{text[:-2]},\n  "left_out": [\n{lines}\n  ]\n}}\n')


def entries(rows, errors):
    ratios = collections.defaultdict(list)
    for row, error in zip(rows, errors):
        ratios[family(row)].append(float(f"{1 / (1 + error):.4g}"))
    return [{"parallelism": p, "gpu": g, "precision": d, "measured_over_predicted": sorted(values)}
            for (p, g, d), values in sorted(ratios.items())]


def write_fitted(runs):
    for stack, about in FITTED.items():
        rows = runs.to_fit(stack)
        out = runs.folder / "out.json"
        parent = about.get("parent")
        result = runs.fit(stack, rows, parent and STACKS / f"{parent}.json", out)
        fitted = json.loads(out.read_text())
        errors = {key: f"{100 * value:.1f} %" for key, value in result["mean_error"].items()}
        file = {"name": stack} | {key: about[key] for key in ("release", "parent") if key in about}
        releases = sorted({row["release"] for row in runs.of(stack) if row["release"]})
        file |= {"aliases": [f"{stack}@{release}" for release in releases]} if releases else {}
        file["source"] = (about["source"].format(rows=len(rows)) + f". Mean error {errors['after']}; " +
                          f"{errors['left_out']} on rows of models, or of one model on rows, that were left out")
        file["tier"] = "model"
        own = {p["name"]: p for p in result["parameters"]}
        stated = about.get("own", {})
        factors = stated.get("factors", {}) | {name: value for name, value in fitted["factors"].items()
                                               if name in own or (name == "fp8_gemm" and "gemm" in own)}
        at_bound = {name: AT_BOUND for name in factors if name in own and own[name]["at_bound"]}
        factors = ({"sources": at_bound} if at_bound else {}) | factors
        if "gpus" in about:
            file["gpu_factors"] = [{"source": "fitted on these GPUs; the parent's factors apply to others", "gpus": about["gpus"], "factors": factors}]
        else:
            file["factors"] = factors
        efficiency = stated.get("efficiency", {})
        if "launch_us" in own:
            efficiency = efficiency | {"launch_us": fitted["efficiency"]["launch_us"]}
        file |= {"efficiency": efficiency} if efficiency else {}
        file |= {"kernels": stated["kernels"]} if "kernels" in stated else {}
        file |= {"defaults": stated["defaults"]} if "defaults" in stated else {}
        left_out = entries(rows, [row["error_left_out"] for row in result["rows"]])
        write(stack, file, [])
        others = [row for row in runs.of(stack) if row not in rows]
        if others:
            left_out += entries(others, [e for e, _, _ in runs.predict(others, STACKS / f"{stack}.json")])
        write(stack, file, left_out)


def vtrain_ratios(runs):
    """Measured over predicted by megatron-2022: of rows that fit_steps.py did not fit."""
    import fit_steps
    ratios = []
    for name, (count, keys) in fit_steps.FILES.items():
        text = runs.run("plan-step", "megatron_a100", "--stack", "megatron-2022", "--batch",
                        runs.data / f"vtrain_{name}_open.csv")
        rows = sorted(csv.DictReader(io.StringIO(text)), key=lambda row: [key(row) for key in keys])
        fitted = {int((i + 0.5) * len(rows) / count) for i in range(count)}
        rest = sorted(float(row[fit_steps.MEASURED]) / float(row["predicted_ms"])
                      for i, row in enumerate(rows) if i not in fitted)
        ratios += rest[5::10] if name == "single" else rest
    return [float(f"{ratio:.4g}") for ratio in sorted(ratios)]


def write_others(runs):
    of_vtrain = {"source": "vTrain's rows that were not fitted: all 35 on 64 to 512 GPUs and, in order of their error, "
                           "every tenth of those on one node",
                 "parallelism": "TP/PP", "gpu": "A100", "precision": "16 bit",
                 "measured_over_predicted": vtrain_ratios(runs)}
    for stack in ("default", "ideal"):
        file = json.loads((STACKS / f"{stack}.json").read_text())
        file.pop("left_out", None)
        errors = runs.predict(runs.rows, STACKS / f"{stack}.json", "overlapped.json")
        left_out = entries(runs.rows, [error for error, _, _ in errors])
        # The default's numbers are those of megatron-2022 on these GPUs.
        write(stack, file, left_out + [of_vtrain] * (stack == "default"))
    rows = runs.of("automodel")
    write("automodel", AUTOMODEL, [])
    write("automodel", AUTOMODEL, entries(rows, [e for e, _, _ in runs.predict(rows, STACKS / "automodel.json")]))
    file = json.loads((STACKS / "megatron-2022.json").read_text())
    file.pop("left_out", None)
    write("megatron-2022", file, [of_vtrain])


# ---- Errors.

def report(label, predicted):
    errors = [error for error, _, _ in predicted]
    inside = statistics.fmean(low <= 1 / (1 + error) <= high for error, low, high in predicted)
    half = statistics.median((high - low) / 2 for _, low, high in predicted)
    print(f"{label:44} {len(errors):4} rows  error {mean(errors):5.1f} %  bias {100 * statistics.fmean(errors):+6.1f} %  "
          f"in range {100 * inside:5.1f} %  half-width {100 * half:4.1f} %", flush=True)
    return predicted


def report_growth(runs):
    """Weak scaling: how much steps grow from the fewest to the most replicas, all else being equal."""
    groups = collections.defaultdict(list)
    grown = ("id", "source", "gpus", "dp", "fsdp", "global_batch", "measured_ms", "tokens_per_s_gpu", "measured_gib",
             "note")
    for stack in PARENT:
        rows = runs.of(stack)
        for row, (error, _, _) in zip(rows, runs.predict(rows, STACKS / f"{stack}.json")):
            if family(row)[0] == "MoE":
                continue
            key = tuple(value for name, value in row.items() if name not in grown)
            of_replica = int(row["global_batch"]) / int(row["dp"])
            groups[key, of_replica].append((int(row["gpus"]), float(row["measured_ms"]), error, row["model"], stack))
    within = total = 0
    for group in groups.values():
        if len(group) < 2:
            continue
        group.sort()
        least, most = group[0], group[-1]
        measured = most[1] / least[1] - 1
        predicted = (most[1] * (1 + most[2])) / (least[1] * (1 + least[2])) - 1
        total += 1
        within += abs(predicted - measured) <= 0.03
        print(f"  {most[4]} {most[3]}, {least[0]} to {most[0]} GPUs: measured {100 * measured:+.1f} %, "
              f"predicted {100 * predicted:+.1f} %")
    print(f"growth within 3 points in {within} of {total} groups")


def report_shipped(runs):
    total = []
    for stack in PARENT:
        total += report(stack, runs.predict(runs.of(stack), STACKS / f"{stack}.json"))
    report("all, in sample", total)
    for name, chosen in DENSE.items():
        report(name, [p for row, p in zip([row for stack in PARENT for row in runs.of(stack)], total)
                      if family(row)[0] != "MoE" and family(row)[1] in chosen])
    report_growth(runs)


def report_left_out(runs):
    total = []
    for stack in PARENT:
        of_stack = []
        for model in sorted({row["model"] for row in runs.of(stack)}):
            held = [row for row in runs.of(stack) if row["model"] == model]
            stacks = runs.fit_all([row for row in runs.rows if row not in held], needed_for(stack))
            of_stack += report(f"  {stack} without {model}", runs.predict(held, stacks[stack]))
        total += report(f"{stack}, one model left out", of_stack)
    report("all, one model left out", total)
    total = []
    for left in sorted({family(row) for row in runs.rows}):
        stacks = runs.fit_all([row for row in runs.rows if family(row) != left], PARENT)
        held = []
        for stack in PARENT:
            rows = [row for row in runs.of(stack) if family(row) == left]
            held += runs.predict(rows, stacks[stack]) if rows else []
        total += report("  without " + " ".join(left), held)
    report("all, one family left out", total)


# How the software of the stacks works: the key that says so, and the dense rows that it affects.
MECHANISMS = {
    "kernels are slower during collectives": ("efficiency/collective_sms", lambda row: True),
    "the slowest of n GPUs": ("efficiency/speed_spread", lambda row: True),
    "latency of rings between nodes": ("efficiency/bulk_hop_us", lambda row: int(row["gpus"]) >= 128),
    "FlashAttention-2": ("kernels", lambda row: row["stack"] == "llm-foundry"),
    "loss in 32 bits": ("defaults/loss", lambda row: row["model"] in ("mpt-125m", "mpt-350m")),
    "every second matmul recomputed": ("defaults/selective_recompute", lambda row: row["recompute"] == "selective"),
    "sliced tensor-parallel collectives": ("defaults/tp_overlap", lambda row: int(row["tp"] or 1) > 1),
    "ring attention": ("defaults/overlap_cp", lambda row: int(row["cp"] or 1) > 1),
    "fp8 casts": ("defaults/fp8_recipe", lambda row: row["dtype"] == "fp8"),
    "eager element-wise operations": (None, lambda row: row["note"] == "eager"),
}


@contextlib.contextmanager
def without(runs, key):
    """Without the key in all stacks; None: without the column `compiled` in all rows."""
    stated, rows = copy.deepcopy(FITTED), copy.deepcopy(runs.rows)
    try:
        for about in FITTED.values():
            *folder, name = key.split("/") if key else ["none"]
            inside = about["own"].get(folder[0], {}) if folder else about["own"]
            inside.pop(name, None)
            inside.get("sources", {}).pop(name, None)
        for row in runs.rows if key is None else []:
            row["compiled"] = ""
        yield
    finally:
        FITTED.update(stated)
        runs.rows = rows


def report_mechanisms(runs):
    """Error on the rows that each mechanism affects, with it and without it; both fitted again."""
    def errors(concerned):
        rows = [row for row in runs.rows if family(row)[0] != "MoE" and concerned(row)]
        stacks = runs.fit_all(runs.rows, PARENT)
        found = []
        for stack in PARENT:
            own = [row for row in rows if row["stack"] == stack]
            found += [e for e, _, _ in runs.predict(own, stacks[stack])] if own else []
        return found

    def described(found):
        return f"{mean(found):5.1f} %  bias {100 * statistics.fmean(found):+5.1f} %"

    for name, (key, concerned) in MECHANISMS.items():
        full = errors(concerned)
        with without(runs, key):
            left = errors(concerned)
        print(f"{name:40} {len(full):4} rows  with {described(full)}   without {described(left)}", flush=True)


def report_draws(runs, draws):
    """Of every group of at least ten rows: fits to five of them, from the shipped stack of the others' model."""
    groups = collections.defaultdict(list)
    for row in runs.rows:
        groups[row["stack"], row["model"], row["cluster"], row["dtype"]].append(row)
    for key, rows in sorted(groups.items()):
        if len(rows) < 8:
            continue
        base = STACKS / f"{key[0]}.json"
        before, after = [], []
        for seed in range(draws):
            five = random.Random(seed).sample(rows, 5)
            rest = [row for row in rows if row not in five]
            out = runs.folder / "five.json"
            runs.fit("", five, base, out)
            before += [e for e, _, _ in runs.predict(rest, base)]
            after += [e for e, _, _ in runs.predict(rest, out)]
        print(f"{' '.join(key):50} {len(rows):3} rows, 5 fitted: the others {mean(before):5.1f} % -> {mean(after):5.1f} %",
              flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--goodput", required=True)
    options.add_argument("--data", required=True)
    options.add_argument("--write", action="store_true")
    options.add_argument("--left-out", action="store_true")
    options.add_argument("--draws", type=int, default=0)
    options.add_argument("--mechanisms", action="store_true")
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(args.goodput, args.data, folder)
        if args.write:
            write_fitted(runs)
            write_others(runs)
        elif args.left_out:
            report_left_out(runs)
        elif args.mechanisms:
            report_mechanisms(runs)
        elif args.draws:
            report_draws(runs, args.draws)
        else:
            report_shipped(runs)


if __name__ == "__main__":
    main()
