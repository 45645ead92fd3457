#!/usr/bin/env python3
"""Fits what steps reach of configs/clusters/a100-8gpu.json to 40 measured ones and predicts the others.

    fit_steps.py --goodput build/release/goodput --data FOLDER [--choices N]

FOLDER holds vtrain_single_open.csv and vtrain_multi_open.csv. Six parameters are fitted by least squares on
log(predicted / measured) with a soft-L1 loss; all others stay as the cluster file has them. The 24 + 16 rows:
each file is sorted by its families and cut into equal slices, of which the middle row is taken; --choices N
takes N times a random row of each slice instead, and shows how much hangs on the choice. Needs numpy and scipy.
"""
import argparse
import csv
import io
import json
import math
import pathlib
import random
import subprocess
import tempfile

CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
MEASURED = "iteration time (ms)"
# Start, lowest, highest.
PARAMETERS = {
    "gemm_efficiency": (0.8, 0.3, 1),
    "memory_efficiency": (0.6, 0.2, 1),
    "misaligned_efficiency": (0.35, 0.1, 1),
    "launch_us": (40, 1, 100),
    "inter_node/efficiency": (0.85, 0.3, 1),
    "intra_node/send_gb_per_s": (15, 1, 200),
}
H, TP, PP, DP, MB, L = (lambda row, column=column: float(row[column]) for column in (
    "hidden size", "tensor parallelism", "pipeline parallelism", "data parallelism", "micro batch", "# layers"))


def M(row):  # micro-batches of a replica
    return float(row["global batch"]) / (MB(row) * DP(row))


FILES = {"single": (24, (H, TP, MB, PP, DP, M, L)), "multi": (16, (H, TP, PP, MB, DP))}


class Experiment:
    def __init__(self, goodput, data, folder):
        self.goodput = goodput
        self.folder = pathlib.Path(folder)
        self.rows = {}
        for name in FILES:
            lines = (pathlib.Path(data) / f"vtrain_{name}_open.csv").read_text().splitlines()
            self.header = getattr(self, "header", {}) | {name: lines[0]}
            self.rows[name] = list(zip(lines[1:], csv.DictReader(lines)))
        for kind in ("clusters", "plans"):
            (self.folder / kind).mkdir()
        plan = json.loads((CONFIGS / "plans/megatron_a100.json").read_text())
        plan["stack"] = {"name": "lone kernels"}  # what is fitted is what steps reach, stack and all
        (self.folder / "plans/plan.json").write_text(json.dumps(plan))

    def configure(self, parameters):
        cluster = json.loads((CONFIGS / "clusters/a100-8gpu.json").read_text())
        for key, value in parameters.items():
            *parts, last = key.split("/")
            (cluster[parts[0]] if parts else cluster["efficiency"])[last] = float(value)
        (self.folder / "clusters/a100-8gpu.json").write_text(json.dumps(cluster))

    def predict(self, name, lines):
        """(measured, predicted) in ms for rows of one file."""
        rows = self.folder / "rows.csv"
        rows.write_text("\n".join([self.header[name], *lines]) + "\n")
        out = subprocess.run([self.goodput, "plan-step", str(self.folder / "plans/plan.json"), "--batch", str(rows)],
                             check=True, capture_output=True, text=True).stdout
        return [(float(r[MEASURED]), float(r["predicted_ms"])) for r in csv.DictReader(io.StringIO(out))]

    def choose(self, where):
        """Lines of the calibration rows, by file: one of each slice, `where` in [0, 1) of it."""
        chosen = {}
        for name, (count, keys) in FILES.items():
            ordered = sorted(self.rows[name], key=lambda row: [key(row[1]) for key in keys])
            chosen[name] = [ordered[int((i + where()) * len(ordered) / count)][0] for i in range(count)]
        return chosen

    def fit(self, chosen):
        from scipy.optimize import least_squares
        names = list(PARAMETERS)
        start, low, high = zip(*PARAMETERS.values())

        def residuals(x):
            self.configure(dict(zip(names, x)))
            return [math.log(p / t) for name in FILES for t, p in self.predict(name, chosen[name])]

        found = least_squares(residuals, start, bounds=(low, high), x_scale=start, loss="soft_l1", f_scale=0.04,
                              diff_step=0.01, max_nfev=30)
        return dict(zip(names, found.x))

    def errors(self, chosen):
        """Mean absolute percentage error and bias on the rows that were not fitted, by file."""
        import numpy as np
        result = {}
        for name in FILES:
            others = [line for line, _ in self.rows[name] if line not in set(chosen[name])]
            error = np.array([p / t - 1 for t, p in self.predict(name, others)])
            result[name] = (100 * np.abs(error).mean(), 100 * error.mean())
        return result


def show(parameters, errors):
    print("  ".join(f"{name} {mape:.2f} % (bias {bias:+.2f} %)" for name, (mape, bias) in errors.items()),
          {k: round(float(v), 4) for k, v in parameters.items()}, flush=True)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--goodput", required=True)
    options.add_argument("--data", required=True)
    options.add_argument("--choices", type=int, default=0)
    args = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        experiment = Experiment(args.goodput, args.data, folder)
        chosen = experiment.choose(lambda: 0.5)
        parameters = experiment.fit(chosen)
        experiment.configure(parameters)
        show(parameters, experiment.errors(chosen))
        for seed in range(args.choices):
            rng = random.Random(seed)
            chosen = experiment.choose(rng.random)
            parameters = experiment.fit(chosen)
            experiment.configure(parameters)
            show(parameters, experiment.errors(chosen))


if __name__ == "__main__":
    main()
