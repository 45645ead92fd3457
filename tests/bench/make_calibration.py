#!/usr/bin/env python3
"""Writes configs/calibration/h200-public.json from the public H200 tables.

make_calibration.py FOLDER > configs/calibration/h200-public.json

FOLDER has nccl_h200_2.29.2.csv and gemm_h200_bf16.csv, decoded from the Parquet files of
ai-dynamo/aiconfigurator at COMMIT. Of the collectives the 16-bit rows are taken; sizes become bytes, as nccl-tests count them.
"""
import collections
import csv
import itertools
import json
import pathlib
import sys

COMMIT = "095f58a51"
ORIGIN = f"ai-dynamo/aiconfigurator, commit {COMMIT}, systems/data/h200_sxm"
BYTES_A_VALUE = {"half": 2}
OPS = {"all_gather": "all_gather", "reduce_scatter": "reduce_scatter", "all_reduce": "all_reduce",
       "alltoall": "all_to_all"}
BUS_FACTOR = {"all_reduce": lambda n: 2 * (n - 1) / n}  # the others: (n - 1) / n
KNEE_BYTES = 4 << 20  # two lines misfit much less than one


def rows_of(path):
    with open(path, newline="", encoding="ascii") as stream:
        return list(csv.DictReader(stream))


def collective_tables(path):
    tables = collections.defaultdict(list)
    for row in rows_of(path):
        width = BYTES_A_VALUE.get(row["nccl_dtype"])
        if width:
            key = (OPS[row["op_name"]], int(row["num_gpus"]))
            tables[key].append((int(row["message_size"]) * width, float(row["latency"]) * 1e3))
    return {key: sorted(points) for key, points in sorted(tables.items())}


def gemm_tables(path):
    tables = collections.defaultdict(list)
    for row in rows_of(path):
        tables[int(row["n"]), int(row["k"])].append((int(row["m"]), float(row["latency_ms"]) * 1e3))
    return {key: sorted(points) for key, points in sorted(tables.items())}


def line(points):
    """alpha, beta of the least relative squares: sum (alpha / t + beta s / t - 1)^2."""
    aa = sum(1 / t**2 for _, t in points)
    ab = sum(s / t**2 for s, t in points)
    bb = sum((s / t) ** 2 for s, t in points)
    a1 = sum(1 / t for _, t in points)
    b1 = sum(s / t for s, t in points)
    determinant = aa * bb - ab * ab
    return (a1 * bb - b1 * ab) / determinant, (aa * b1 - ab * a1) / determinant


def fit(op, ranks, points):
    alpha, beta = line(points)
    factor = BUS_FACTOR.get(op, lambda n: (n - 1) / n)(ranks)
    worst = max(abs((alpha + beta * s) / t - 1) for s, t in points)
    return {"lo": points[0][0], "hi": points[-1][0], "alpha_us": round(alpha, 2),
            "GBps_bus": round(factor / beta / 1e3, 1), "max_rel": round(worst, 3)}


def collective(op, ranks, points):
    below = [point for point in points if point[0] < KNEE_BYTES]
    above = [point for point in points if point[0] >= KNEE_BYTES]
    return {"op": op, "params": {"ranks": ranks, "dtype": "fp16"}, "tier": "literature",
            "source": f"{ORIGIN}: nccl-tests, NCCL 2.29.2",
            "points": [{"bytes": s, "median_us": round(t, 2)} for s, t in points],
            "fit": [fit(op, ranks, below), fit(op, ranks, above)]}


def gemm(n, k, points):
    return {"op": "gemm", "params": {"n": n, "k": k, "dtype": "bf16"}, "tier": "literature",
            "source": f"{ORIGIN}: torch GEMM of (m,k) by (k,n)",
            "points": [{"m": m, "median_us": round(t, 3)} for m, t in points]}


def calibration(folder):
    collectives = collective_tables(folder / "nccl_h200_2.29.2.csv")
    gemms = gemm_tables(folder / "gemm_h200_bf16.csv")
    return {
        "schema": "goodput.calibration/1",
        "source": f"{ORIGIN}; made by tests/bench/make_calibration.py",
        "licence": "Apache-2.0",
        "machine": {"gpu": "NVIDIA H200", "stands_for": ["H100"], "gpus": 8, "sm": 132, "nccl": "2.29.2",
                    "bf16_tflops": 989.4, "memory_gb_per_s": 4800},
        "method": {"notes": "one number a point was published; percentiles, samples and clocks were not"},
        "ops": [collective(op, ranks, points) for (op, ranks), points in collectives.items()]
        + [gemm(n, k, points) for (n, k), points in gemms.items()],
    }


def lines_of(op):
    """An op with a few points a line: it can be read, and a change shows."""
    head = json.dumps({key: value for key, value in op.items() if key not in ("points", "fit")})[:-1]
    points = [json.dumps(point) for point in op["points"]]
    rows = [", ".join(points[first:first + 4]) for first in range(0, len(points), 4)]
    tail = f', "fit": {json.dumps(op["fit"])}' if "fit" in op else ""
    yield f"  {head},\n   \"points\": [\n    " + ",\n    ".join(rows) + f"]{tail}}}"


def main():
    whole = calibration(pathlib.Path(sys.argv[1]))
    head = json.dumps({key: value for key, value in whole.items() if key != "ops"}, indent=1)
    ops = ",\n".join(itertools.chain.from_iterable(lines_of(op) for op in whole["ops"]))
    print(head.removesuffix("\n}") + ',\n "ops": [\n' + ops + "\n ]\n}")


if __name__ == "__main__":
    main()
