"""Tests of goodput-calibrate where there are several GPUs, emulated: the collectives, whose ranks are processes of it.

calibrate_collectives_test.py FOLDER GOODPUT: where goodput-calibrate_emulated is, and the program that reads its file."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

GOODPUT = Path(sys.argv.pop(2)).resolve()
PROGRAM = Path(sys.argv.pop(1)).resolve() / "goodput-calibrate_emulated"
OPS = ["all_gather", "all_reduce", "all_to_all", "reduce_scatter", "send_recv"]
SIZES = [512, 2048, 8192]
KILLS = 8
os.environ["SIMT_STRICT_FORKS"] = "1"  # as CUDA, which a forked process cannot call once its parent has


def point_of(visit):
    return visit["op"], visit["params"]["ranks"], visit["bytes"]


class Collectives(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "h.json"
        self.journal = self.folder / "h.json.journal"

    def start(self, gpus, *arguments, **environment):
        return subprocess.Popen([PROGRAM, "--out", "h.json", "--quick", *arguments], cwd=self.folder, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                env={**os.environ, "SIMT_DEVICES": str(gpus), **environment})

    def run_program(self, gpus, *arguments, **environment):
        process = self.start(gpus, *arguments, **environment)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def records(self, kind):
        lines = self.journal.read_text().split("\n")[1:-1] if self.journal.exists() else []
        return [record[kind] for record in map(json.loads, lines) if kind in record]

    def points(self):
        return {(table["op"], table["params"]["ranks"], point["bytes"]): point
                for table in json.loads(self.file.read_text())["ops"] for point in table["points"]}

    def test_all_ops_and_sizes_among_two_and_four_are_right_and_can_be_read(self):
        status, printed, err = self.run_program(4, "--only", "collectives")
        self.assertEqual((status, err), (0, ""), printed)
        self.assertIn("all 30 points measured\n", printed)
        points = self.points()
        self.assertEqual(sorted(points), [(op, ranks, size) for op in OPS for ranks in (2, 4) for size in SIZES])
        self.assertEqual({point["nwrong"] for point in points.values()}, {0})
        self.assertEqual(json.loads(self.file.read_text())["machine"]["nccl"], "2.28.9")

        # The reader refuses what was emulated; with another word for that it reads all of it.
        read = [GOODPUT, "calibration", "info", "h.json", "--json", "-"]
        self.assertEqual(subprocess.run(read, cwd=self.folder, capture_output=True, timeout=60).returncode, 1)
        self.file.write_text(self.file.read_text().replace('"emulated"', '"measured"'))
        done = subprocess.run(read, cwd=self.folder, capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(len(json.loads(done.stdout)["tables"]), len(OPS) * 2)

    def test_eight_are_predicted_from_two_and_four_and_the_error_is_printed(self):
        status, printed, err = self.run_program(8, "--only", "collectives send_recv", "--rounds", "1")
        self.assertEqual((status, err), (0, ""), printed)
        self.assertRegex(printed, r"\nsend_recv: prediction for 8 ranks from 2 and 4: \d+\.\d % off on average, "
                                  r"[+-]\d+\.\d % at worst \(\d+ K?i?B\)\n")

    def test_fewer_ranks_than_gpus_are_those_that_are_asked_for(self):
        status, printed, err = self.run_program(4, "--only", "all_reduce", "--ranks", "2")
        self.assertEqual((status, err), (0, ""), printed)
        self.assertEqual({ranks for _, ranks, _ in self.points()}, {2})

    def test_as_many_ranks_as_gpus_come_after_the_points_of_one_and_are_counted_apart(self):
        status, printed, err = self.run_program(2, "--only", "dtype=fp", "--ranks", "2")
        self.assertEqual((status, err), (0, ""), printed)
        of_one_gpu, of_ranks = re.findall(r"^all (\d+) points measured$", printed, re.MULTILINE)
        self.assertEqual(int(of_ranks), len(OPS) * len(SIZES))
        visits = self.records("visit")
        self.assertEqual(int(of_one_gpu), len({json.dumps([visit["params"], visit["m"]])
                                               for visit in visits if visit["sweep"] != "collectives"}))

    def test_one_gpu_has_none_and_the_file_says_so(self):
        status, printed, err = self.run_program(1, "--only", "a")  # launch_gap, all_reduce, ...
        self.assertEqual((status, err), (0, ""), printed)
        self.assertIn("no collectives: there is only one GPU, and collectives of a single rank are copies",
                      json.loads(self.file.read_text())["method"]["notes"])

    def test_told_to_stop_all_ranks_end_with_a_file_and_go_on_when_asked(self):
        arguments = ("--only", "collectives")
        process = self.start(4, *arguments)
        while len(self.records("visit")) < 5:
            self.assertIsNone(process.poll())
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        printed, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (128 + signal.SIGTERM, ""), printed)
        measured = self.records("visit")
        self.assertLess(len(measured), 60)
        self.assertLessEqual(set(self.points()), {point_of(visit) for visit in measured})
        status, printed, err = self.run_program(4, *arguments, "--resume")
        self.assertEqual((status, err), (0, ""), printed)
        self.assertEqual(self.records("visit")[:len(measured)], measured)
        self.assertEqual(len(self.points()), 30)

    def test_killed_at_random_moments_no_rank_is_left_and_nothing_is_measured_twice(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        arguments = ("--only", "collectives", "--resume")
        kept = []
        for _ in range(KILLS):
            process = self.start(4, *arguments)
            time.sleep(draw.uniform(0.1, 0.6))
            process.kill()
            process.communicate(timeout=60)  # until the last rank has closed its output
            now = self.records("visit")
            self.assertEqual(now[:len(kept)], kept)
            kept = now
        status, printed, err = self.run_program(4, *arguments)
        self.assertEqual((status, err), (0, ""), printed)
        names = [(point_of(visit), visit["round"], visit.get("again", False)) for visit in self.records("visit")]
        self.assertEqual(len(names), len(set(names)), f"seed {seed}")
        self.assertEqual(len(self.points()), 30)

    def test_a_rank_that_dies_ends_all_with_one_line_and_what_was_measured_is_kept(self):
        began = time.monotonic()
        status, printed, err = self.run_program(4, "--only", "collectives all", "--rounds", "1",
                                                SIMT_NCCL_FAULTS="rank=1 die_at_call=300")
        self.assertLess(time.monotonic() - began, 10)
        self.assertEqual((status, err), (1, "goodput-calibrate: rank 1: killed by signal 9 (SIGKILL); ranks 0, 2, 3 ended as a consequence\n"), printed)
        self.assertEqual(self.records("note")[-1], "collectives were aborted: rank 1 was killed by signal 9 (SIGKILL)")
        self.assertEqual(set(self.points()), {point_of(visit) for visit in self.records("visit")})
        self.assertGreater(len(self.points()), 0)

    def test_more_ranks_than_gpus_are_refused(self):
        line = "--ranks is 3, but there are 2 GPUs: each rank needs its own GPU, because ranks that share one cannot be timed"
        self.assertEqual(self.run_program(2, "--ranks", "3"), (1, "", f"goodput-calibrate: {line}\n"))
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
