#!/usr/bin/env python3
"""Fits configs/routing/smartmoe-like.json to a recorded routing trace and shows how the two compare.

    fit_routing.py TRACE.csv.gz [--top-k 2] [--layer-spread 0.4]

TRACE is `iter,layer,e0,...` (any interval). Prints the "course" of the config: at each of a few iterations the
deviation of the logits (`spread`) that gives the recorded coefficient of variation, and the drift from there to the
next point that gives the recorded total variation distance between the two; before that, the noise that gives the
distance between neighbouring iterations at the end. A share is sigmoid(logit + c) / top_k, as models/routing/synthetic_routing.h says.
Monte Carlo over 2000 layers with fixed draws. Needs numpy.
"""
import argparse
import gzip

import numpy as np

POINTS = [1, 11, 21, 51, 71, 101, 151, 201, 301, 401, 501, 701, 1001, 1401, 2001, 3001, 4001, 5001]
LAYERS = 2000
LARGEST_SPREAD = 20  # beyond, top_k experts get everything


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rt") as file:
        table = np.loadtxt(file, delimiter=",", skiprows=1)
    iterations = np.unique(table[:, 0])
    loads = table[np.lexsort((table[:, 1], table[:, 0])), 2:].reshape(len(iterations), -1, table.shape[1] - 2)
    return iterations, loads / loads.sum(2, keepdims=True)


def shares(logits, top_k):
    low, high = -logits.max(-1) - 50, -logits.min(-1) + 50
    for _ in range(60):
        middle = (low + high) / 2
        too_few = (1 / (1 + np.exp(-(logits + middle[..., None])))).sum(-1) < top_k
        low, high = np.where(too_few, middle, low), np.where(too_few, high, middle)
    return 1 / (1 + np.exp(-(logits + middle[..., None]))) / top_k


def variation(p):
    return p.std(-1) * p.shape[-1]


def distance(p, q):
    return 0.5 * np.abs(p - q).sum(-1)


def bisect(is_too_low, low, high, steps=30):
    for _ in range(steps):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if is_too_low(middle) else (low, middle)
    return np.sqrt(low * high)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trace")
    parser.add_argument("--top-k", type=int, default=2)
    parser.add_argument("--layer-spread", type=float, default=0.4)
    options = parser.parse_args()
    np.seterr(over="ignore")
    iterations, recorded = read(options.trace)
    random = np.random.default_rng(1)
    experts = recorded.shape[2]
    first, other, noise_a, noise_b = random.normal(size=(4, LAYERS, experts))
    factor = np.exp(options.layer_spread * random.normal(size=(LAYERS, 1)))

    def at(iteration):  # smoothed over three rows where the routing is slow enough
        i = int(np.searchsorted(iterations, iteration, "right")) - 1
        width = 1 if iteration > 60 else 0
        return recorded[max(0, i - width) : i + width + 1].mean(0)

    def simulate(spread, logits, noise=0.0, draws=noise_a):
        return shares(logits * spread * factor + noise * draws, options.top_k)

    def fit_spread(iteration, noise):
        target = variation(at(iteration)).mean()
        return bisect(lambda s: variation(simulate(s, first, noise)).mean() < target, 0.05, LARGEST_SPREAD)

    points = [p for p in POINTS if p <= iterations[-1]]
    last_spread = fit_spread(points[-1], 0)
    late = recorded[-len(recorded) // 5 :]
    target = distance(late[1:], late[:-1]).mean()
    noise = bisect(
        lambda n: distance(simulate(last_spread, first, n), simulate(last_spread, first, n, noise_b)).mean() < target, 1e-3, 3)

    spreads = [fit_spread(p, noise) for p in points]
    drifts = []
    for i, (a, b) in enumerate(zip(points, points[1:])):
        target = distance(at(a), at(b)).mean()
        before = simulate(spreads[i], first)

        def too_near(drift):
            keep = np.exp(-drift * (b - a))
            return distance(before, simulate(spreads[i + 1], keep * first + np.sqrt(1 - keep**2) * other)).mean() < target

        drifts.append(bisect(too_near, 1e-8, 1))
    drifts.append(drifts[-1])
    print("course:")
    for p, s, d in zip(points, spreads, drifts):
        print(f'    {{"iteration": {p}, "spread": {s:.3g}, "drift": {d:.2g}}},')
    print(f"noise: {noise:.3g}")
    late_variation = variation(at(iterations[-1]))
    print(f"layer_spread {options.layer_spread}: deviation of the variation over layers {variation(simulate(spreads[-1], first)).std():.3f}, "
          f"recorded {late_variation.std():.3f}")


if __name__ == "__main__":
    main()
