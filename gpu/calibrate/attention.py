#!/usr/bin/env python3
"""Times scaled dot-product attention with torch, and appends the times to the journal of goodput-calibrate.

gpu/ has no attention library, so this program measures what frameworks run. The next `goodput-calibrate --resume`
includes the times in its file. Exit status: 0 success; 1 an error; 77 no torch or no GPU."""

import argparse
import fcntl
import json
import os
import random
import statistics
import sys
import time

HEADS = ((32, 8, 128), (64, 8, 128))  # heads, of them with keys of their own, values a head: Llama 3 8B, 70B
LENGTHS = tuple(512 << power for power in range(8))  # 512 ... 65536
LEAST, FEW, MOST, SECONDS, STEADY = 50, 5, 1000, 0.25, 0.002  # gpu/calibrate/stopping_rule.h
ROUNDS = 2
REPLAY_US = 1000  # gpu/bench/stream_timer.h
KEY = ("op", "params", "tokens", "round")


def die(text, status=1):
    print(text if status == 77 else f"attention.py: {text}", file=sys.stdout if status == 77 else sys.stderr)
    sys.exit(status)


def quantile(ascending, q):
    place = q * (len(ascending) - 1)
    low = int(place)
    high = min(low + 1, len(ascending) - 1)
    return ascending[low] + (place - low) * (ascending[high] - ascending[low])


def median_cv(ascending):
    """As gpu/bench/statistics.h."""
    middle, reach = (len(ascending) - 1) / 2, len(ascending) ** 0.5
    at = lambda place: quantile(ascending, min(max(place / (len(ascending) - 1), 0), 1))
    return (at(middle + reach) - at(middle - reach)) / 4 / at(middle)


class Journal:
    def __init__(self, path):
        try:
            self.file = open(path, "r+")
            fcntl.flock(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            die(f"{path}: another program is writing it")
        except OSError as error:
            die(f"{path}: {error.strerror}; create a journal with goodput-calibrate --out FILE")
        text = self.file.read()
        whole = text[:text.rfind("\n") + 1]
        try:
            lines = [json.loads(line) for line in whole.splitlines()]
            header, self.visits = lines[0], [line["visit"] for line in lines[1:] if "visit" in line]
            self.gpu, self.tier = header["machine"]["gpu"], header["tier"]
        except (ValueError, LookupError, TypeError):
            die(f"{path}: is not a journal of goodput-calibrate")
        if self.tier != "measured":
            die(f"{path}: its times are {self.tier}, not measured")
        self.file.truncate(len(whole.encode()))

    def has(self, visit):
        return any(all(old.get(key) == visit.get(key) for key in KEY) for old in self.visits)

    def append(self, visit):
        self.file.seek(0, os.SEEK_END)
        self.file.write(json.dumps({"visit": visit}) + "\n")
        self.file.flush()
        os.fsync(self.file.fileno())


class Attention:
    """One shape: causal, bf16, a sequence, forward or backward."""

    def __init__(self, torch, heads, kv_heads, head_dim, tokens):
        self.torch = torch
        generator = torch.Generator("cuda").manual_seed(tokens)
        draw = lambda count: torch.randn((1, count, tokens, head_dim), generator=generator, device="cuda",
                                         dtype=torch.bfloat16, requires_grad=True)
        self.q, self.k, self.v = draw(heads), draw(kv_heads), draw(kv_heads)
        self.dy = draw(heads).detach()

    def forward(self):
        return self.torch.nn.functional.scaled_dot_product_attention(self.q, self.k, self.v, is_causal=True,
                                                                     enable_gqa=True)

    def runner(self, backward):
        if not backward:
            def run():
                with self.torch.no_grad():
                    self.forward()
            return run
        y = self.forward()
        return lambda: self.torch.autograd.grad(y, (self.q, self.k, self.v), self.dy, retain_graph=True)

    def wrong(self):
        """Values that differ from the plain computation by more than bf16 explains."""
        with self.torch.no_grad():
            fast = self.forward().float()
            with self.torch.nn.attention.sdpa_kernel(self.torch.nn.attention.SDPBackend.MATH):
                plain = self.forward().float()
        return int(((fast - plain).abs() > 0.02 + 0.02 * plain.abs()).sum())


def kernel_of(torch, run):
    """The longest kernel of a run."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        run()
        torch.cuda.synchronize()
    events = profile.key_averages()
    return max(events, key=lambda event: event.device_time_total).key if events else "an unknown kernel"


def warm_up(torch, run, seconds):
    """By the host's clock: torch knows none of the SMs. us of a run."""
    run()
    torch.cuda.synchronize()
    runs, began = 0, time.monotonic()
    while runs < 1 or time.monotonic() - began < seconds:
        run()
        torch.cuda.synchronize()
        runs += 1
    return 1e6 * (time.monotonic() - began) / runs


def replayed(torch, run, runs):
    """A graph of so many runs: launched one by one, short ones would take what Python takes."""
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(runs):
            run()
    return graph.replay


def sample(torch, run, passed):
    """us of a run, by events; None where the deadline passed. And how."""
    run_us = warm_up(torch, run, 0.005)
    runs = max(1, min(100, round(REPLAY_US / run_us)))
    how = ""
    if runs > 1:
        try:
            run = replayed(torch, run, runs)
            run()
        except RuntimeError:  # what cannot be captured
            runs, how = 1, ", launched one by one"
    us, began = [], time.monotonic()
    while True:
        spans = [[torch.cuda.Event(enable_timing=True) for _ in range(2)] for _ in range(FEW)]
        for begin, end in spans:
            begin.record()
            run()
            end.record()
        torch.cuda.synchronize()
        us += [1e3 * begin.elapsed_time(end) / runs for begin, end in spans]
        if passed():
            return None, how
        ascending = sorted(us)
        if len(us) >= MOST or len(us) >= LEAST and median_cv(ascending) <= STEADY:
            return ascending, how
        if time.monotonic() - began >= SECONDS:
            return ascending, how


def measure(torch, shape, tokens, backward, number, passed):
    heads, kv_heads, head_dim = shape
    attention = Attention(torch, heads, kv_heads, head_dim, tokens)
    run = attention.runner(backward)
    us, how = sample(torch, run, passed)
    if us is None:
        return None
    mean = statistics.fmean(us)
    visit = point(shape, tokens, backward, number)
    visit |= {"median_us": quantile(us, 0.5), "p05_us": quantile(us, 0.05), "p95_us": quantile(us, 0.95), "min_us": us[0],
              "mean_us": mean, "cv": statistics.stdev(us) / mean, "n": len(us)}
    # The plain computation keeps all scores: beyond some thousand tokens they do not fit.
    if number == 1 and not backward and tokens <= 2048:
        visit["nwrong"] = attention.wrong()
    visit["source"] = f"torch {torch.__version__} scaled_dot_product_attention: {kernel_of(torch, run)}{how}"
    return visit


def point(shape, tokens, backward, number):
    heads, kv_heads, head_dim = shape
    params = {"heads": heads, "kv_heads": kv_heads, "head_dim": head_dim, "dtype": "bf16", "causal": True}
    if backward:
        params["backward"] = True
    return {"sweep": "attention", "op": "attention", "params": params, "tokens": tokens, "tier": "measured",
            "round": number}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--journal", required=True, metavar="FILE.journal")
    parser.add_argument("--deadline-s", type=float, default=120)
    options = parser.parse_args()
    end = time.monotonic() + options.deadline_s
    try:
        import torch
    except ImportError:
        die("skipped: torch is not installed for this Python", 77)
    if not torch.cuda.is_available():
        die("skipped: torch finds no GPU", 77)
    journal = Journal(options.journal)
    name = torch.cuda.get_device_name()
    if name != journal.gpu:
        die(f"{options.journal}: belongs to a different machine: it has a '{journal.gpu}', this machine a '{name}'")
    points = [(shape, tokens, backward) for shape in HEADS for tokens in LENGTHS for backward in (False, True)]
    warm_up(torch, Attention(torch, *HEADS[0], LENGTHS[3]).runner(False), 0.1)
    measured = 0
    for number in range(1, ROUNDS + 1):
        order = list(points)
        random.Random(number).shuffle(order)
        for shape, tokens, backward in order:
            if not journal.has(point(shape, tokens, backward, number)):
                visit = None
                if time.monotonic() < end:
                    visit = measure(torch, shape, tokens, backward, number, lambda: time.monotonic() >= end)
                if visit is None:
                    print(f"{measured} of {ROUNDS * len(points)} points measured before the deadline")
                    return
                journal.append(visit)
                print(f"attention  {shape} tokens={tokens} backward={backward}  {visit['median_us']:.4g} us", flush=True)
            measured += 1
    print(f"all {measured} points measured")


if __name__ == "__main__":
    main()
