"""Tests of gpu/calibrate/attention.py with a torch that computes nothing."""

import fcntl
import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "gpu/calibrate/attention.py"
HEADER = {"schema": "goodput.calibration_journal/1", "tier": "measured", "machine": {"gpu": "NVIDIA Made Up"}}

# Every replay and every run takes 100 us; a result has as many wrong values as WRONG says.
TORCH = '''
import contextlib, os, sys, types
__version__ = "9.9"
bfloat16 = "bf16"

class Tensor:
    def __getattr__(self, name):
        return lambda *_: self
    def __sub__(self, other): return self
    def __rmul__(self, other): return self
    def __radd__(self, other): return self
    def __gt__(self, other): return self
    def __int__(self): return int(os.environ.get("WRONG", "0"))

class Event:
    def __init__(self, enable_timing): pass
    def record(self): pass
    def elapsed_time(self, end): return 0.1

class Generator:
    def __init__(self, device): pass
    def manual_seed(self, seed): return self

def randn(shape, generator, device, dtype, requires_grad):
    assert dtype == bfloat16 and len(shape) == 4
    return Tensor()

def attend(q, k, v, is_causal, enable_gqa):
    assert is_causal and enable_gqa
    return Tensor()

@contextlib.contextmanager
def nothing(*_, **__):
    yield types.SimpleNamespace(key_averages=lambda: [types.SimpleNamespace(key="small", device_time_total=1),
                                                      types.SimpleNamespace(key="flash_fwd", device_time_total=9)])

class CUDAGraph:
    def replay(self): pass

@contextlib.contextmanager
def capture(graph):
    if os.environ.get("CAPTURE", "1") != "1":
        raise RuntimeError("operation not permitted when stream is capturing")
    yield

no_grad = nothing
cuda = types.SimpleNamespace(CUDAGraph=CUDAGraph, graph=capture, is_available=lambda: os.environ.get("GPU", "1") == "1", get_device_name=lambda: "NVIDIA Made Up",
                             synchronize=lambda: None, Event=Event)
autograd = types.SimpleNamespace(grad=lambda y, of, dy, retain_graph: None)
profiler = types.SimpleNamespace(profile=nothing, ProfilerActivity=types.SimpleNamespace(CUDA=1))
nn = types.SimpleNamespace(functional=types.SimpleNamespace(scaled_dot_product_attention=attend),
                           attention=types.SimpleNamespace(sdpa_kernel=nothing, SDPBackend=types.SimpleNamespace(MATH=1)))
'''

# Of torch: times that differ, 1 to 5 ms in turn, and a profile of what was called.
DIFFERING = '''
turn = 0
def next_time(self, end):
    global turn
    turn += 1
    return 1 + turn % 5
Event.elapsed_time = next_time

called = []
def tells(name, result):
    def call(*_, **__):
        called.append(name)
        return result
    return call

@contextlib.contextmanager
def profile(activities):
    called.clear()
    yield types.SimpleNamespace(key_averages=lambda: [types.SimpleNamespace(key=name, device_time_total=1) for name in called])

autograd.grad = tells("flash_bwd", None)
nn.functional.scaled_dot_product_attention = tells("flash_fwd", Tensor())
profiler.profile = profile
'''


class AttentionScript(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.journal = self.folder / "h.journal"
        self.journal.write_text(json.dumps(HEADER) + "\n")
        (self.folder / "torch.py").write_text(TORCH)

    def run_script(self, *arguments, **environment):
        done = subprocess.run([sys.executable, "-B", SCRIPT, "--journal", self.journal, *arguments], text=True, cwd=self.folder,
                              env={"PATH": os.environ["PATH"], "PYTHONPATH": str(self.folder), **environment},
                              capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def visits(self):
        return [json.loads(line)["visit"] for line in self.journal.read_text().splitlines()[1:]]

    def test_every_length_forward_and_backward_in_two_rounds(self):
        status, out, err = self.run_script()
        self.assertEqual((status, err, out.splitlines()[-1]), (0, "", "all 64 points measured"))
        visits = self.visits()
        self.assertEqual({visit["tokens"] for visit in visits}, {512 << power for power in range(8)})
        names = {json.dumps([visit["params"], visit["tokens"], visit["round"]]) for visit in visits}
        self.assertEqual((len(visits), len(names)), (64, 64))
        first = next(visit for visit in visits if visit["round"] == 1 and visit["tokens"] == 512
                     and visit["params"] == {"heads": 32, "kv_heads": 8, "head_dim": 128, "dtype": "bf16", "causal": True})
        self.assertEqual({**first, "cv": 0, "mean_us": 1}, {
            "sweep": "attention", "op": "attention", "params": first["params"], "tokens": 512, "tier": "measured", "round": 1,
            "median_us": 1, "p05_us": 1, "p95_us": 1, "min_us": 1, "mean_us": 1, "cv": 0, "n": 50, "nwrong": 0,
            "source": "torch 9.9 scaled_dot_product_attention: flash_fwd"})

    def test_what_the_journal_has_is_not_measured_again_and_a_torn_line_is_dropped(self):
        self.run_script()
        lines = self.journal.read_text().splitlines(keepends=True)
        self.journal.write_text("".join(lines[:40]) + lines[40][:30])
        status, out, _ = self.run_script()
        self.assertEqual((status, len(self.visits()), out.count("attention  ")), (0, 64, 64 - 39))

    def test_the_plain_computation_is_asked_once_and_only_for_what_is_short(self):
        self.run_script()
        compared = [visit for visit in self.visits() if "nwrong" in visit]
        self.assertEqual(sorted((visit["params"]["heads"], visit["tokens"]) for visit in compared),
                         [(heads, tokens) for heads in (32, 64) for tokens in (512, 1024, 2048)])
        self.assertEqual({(visit["round"], visit["params"].get("backward", False)) for visit in compared}, {(1, False)})

    def test_times_that_differ_are_told_by_their_quantiles_and_a_gradient_is_none_of_the_forward(self):
        (self.folder / "torch.py").write_text(TORCH + DIFFERING)
        status, _, err = self.run_script()
        self.assertEqual((status, err), (0, ""))
        # As many of 1, 2, 3, 4 and 5: the twentieth at either end is 1 and 5.
        for visit in self.visits():
            times = [visit[key] / visit["median_us"] for key in ("p05_us", "p95_us", "min_us", "mean_us")]
            for time, of_three in zip(times, (1, 5, 1, 3)):
                self.assertAlmostEqual(time, of_three / 3)
            self.assertEqual(visit["n"] % 5, 0)
            self.assertEqual(visit["source"].split(": ")[1], "flash_bwd" if "backward" in visit["params"] else "flash_fwd")
        self.assertEqual({"backward" in visit["params"] for visit in self.visits()}, {False, True})

    def test_the_deadline_ends_it(self):
        status, out, _ = self.run_script("--deadline-s", "0")
        self.assertEqual((status, out), (0, "0 of 64 points measured before the deadline\n"))

    def test_wrong_values_are_said(self):
        self.run_script(WRONG="7")
        self.assertEqual({visit["nwrong"] for visit in self.visits() if "nwrong" in visit}, {7})

    def test_what_cannot_be_captured_is_launched_one_by_one_and_says_so(self):
        self.run_script(CAPTURE="0")
        self.assertEqual({visit["source"] for visit in self.visits()},
                         {"torch 9.9 scaled_dot_product_attention: flash_fwd, launched one by one"})
        self.assertEqual({visit["median_us"] for visit in self.visits()}, {100})

    def test_without_torch_or_gpu_it_is_skipped(self):
        self.assertEqual(self.run_script(GPU="0"), (77, "skipped: torch finds no GPU\n", ""))
        (self.folder / "torch.py").write_text("raise ImportError")
        self.assertEqual(self.run_script(), (77, "skipped: torch is not installed for this Python\n", ""))

    def test_a_journal_that_is_none_or_of_another_machine_is_refused_and_stays(self):
        def refused(content, line):
            self.journal.write_text(content)
            self.assertEqual(self.run_script(), (1, "", f"attention.py: {self.journal}: {line}\n"))
            self.assertEqual(self.journal.read_text(), content)

        refused("hello\n", "is not a journal of goodput-calibrate")
        refused("", "is not a journal of goodput-calibrate")
        refused(json.dumps({**HEADER, "tier": "emulated"}) + "\n", "its times are emulated, not measured")
        refused(json.dumps({**HEADER, "machine": {"gpu": "H100"}}) + "\n",
                "belongs to a different machine: it has a 'H100', this machine a 'NVIDIA Made Up'")
        with open(self.journal) as held:
            fcntl.flock(held, fcntl.LOCK_EX)
            refused(json.dumps(HEADER) + "\n", "another program is writing it")
        self.journal.unlink()
        self.assertEqual(self.run_script(), (1, "", f"attention.py: {self.journal}: No such file or directory; create a journal with "
                                                    "goodput-calibrate --out FILE\n"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
