"""Tests of goodput-calibrate as a user meets it, emulated: times mean nothing, everything else is as on a GPU.

calibrate_program_test.py FOLDER GOODPUT: where goodput-calibrate_emulated is, and the program that reads its file."""

import json
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

GOODPUT = Path(sys.argv.pop(2)).resolve()
PROGRAM = Path(sys.argv.pop(1)).resolve() / "goodput-calibrate_emulated"
KILLS = 20
os.environ["SIMT_STRICT_FORKS"] = "1"  # as CUDA, which a forked process cannot call once its parent has
PARAMS = ("op", "params", "bytes", "tokens", "m")


def point_name(visit):
    return json.dumps({key: visit[key] for key in PARAMS if key in visit}, sort_keys=True)


class Calibrate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        self.file = self.folder / "h.json"
        self.journal = self.folder / "h.json.journal"

    def start(self, *arguments):
        return subprocess.Popen([PROGRAM, *arguments], cwd=self.folder, text=True, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE)

    def run_program(self, *arguments):
        process = self.start(*arguments)
        out, err = process.communicate(timeout=120)
        return process.returncode, out, err

    def refused(self, line, *arguments, status=1):
        self.assertEqual(self.run_program(*arguments), (status, "", f"goodput-calibrate: {line}\n"))

    def goodput(self, *arguments):
        done = subprocess.run([GOODPUT, *arguments], cwd=self.folder, text=True, capture_output=True, timeout=60)
        return done.returncode, done.stdout, done.stderr

    def visits(self):
        """Of the journal's whole lines, in their order."""
        lines = self.journal.read_text().split("\n")[:-1] if self.journal.exists() else []
        return [record["visit"] for record in map(json.loads, lines) if "visit" in record]

    def tables(self):
        return json.loads(self.file.read_text())["ops"]

    def test_a_quick_run_makes_every_table_and_the_reader_refuses_what_was_emulated(self):
        status, printed, err = self.run_program("--out", "h.json", "--quick", "--date", "2026-01-01")
        self.assertEqual((status, err), (0, ""), printed)
        self.assertEqual({table["tier"] for table in self.tables()}, {"emulated"})
        self.assertEqual({table["op"] for table in self.tables()},
                         {"gemm", "grouped_gemm", "copy", "permute", "combine", "regroup", "schedule", "empty_kernel",
                          "launch_gap", "d2h", "h2d", "norm"})
        wrong = [point.get("nwrong") for table in self.tables() for point in table["points"]]
        self.assertEqual(set(wrong) - {None}, {0})
        checks = json.loads(self.file.read_text())["checks"]
        self.assertEqual({(check["tier"], check["nwrong"]) for check in checks}, {("emulated", 0)})
        self.assertEqual({(check["block"], check["params"].get("dispatch"), check["params"].get("sustained", False))
                          for check in checks},
                         {(block, dispatch, sustained) for block, dispatch in
                          (("dense_layer", None), ("moe_layer", "flexible")) for sustained in (False, True)} |
                         {("moe_layer", "padded", False)})
        for check in checks:
            self.assertEqual({part.get("backward", False) for part in check["parts"]}, {False, True})
            self.assertEqual("expert_rows" in check["params"], check["block"] == "moe_layer")

        status, out, err = self.goodput("calibration", "info", "h.json")
        self.assertEqual((status, out), (1, ""))
        self.assertRegex(err, r'h\.json /ops/0/tier: "emulated" times cannot be used: the kernels ran on a CPU')
        self.file.write_text(self.file.read_text().replace('"emulated"', '"measured"'))
        status, out, err = self.goodput("calibration", "info", "h.json", "--json", "-")
        self.assertEqual((status, err), (0, ""))
        self.assertEqual(len(json.loads(out)["tables"]), len(self.tables()))
        self.assertEqual(json.loads(out)["checks"], len(checks))

    def test_killed_at_random_moments_it_loses_no_line_and_measures_nothing_twice(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        draw = random.Random(seed)
        arguments = ("--out", "h.json", "--quick", "--only", "gemm", "--resume")
        kept = []
        for _ in range(KILLS):
            process = self.start(*arguments)
            time.sleep(draw.uniform(0.02, 0.5))
            process.kill()
            process.communicate(timeout=60)
            now = self.visits()
            self.assertEqual(now[:len(kept)], kept)
            kept = now
            if self.file.exists():
                json.loads(self.file.read_text())
        status, printed, err = self.run_program(*arguments)
        self.assertEqual((status, err), (0, ""), printed)
        visits = self.visits()
        self.assertEqual(visits[:len(kept)], kept)
        names = [(point_name(visit), visit["round"], visit.get("again", False)) for visit in visits]
        self.assertEqual(len(names), len(set(names)), f"seed {seed}")

        # The file has the points and values of the journal: the median over rounds of their medians.
        rounds = {}
        for visit in visits:
            if "ceiling" not in visit:
                rounds.setdefault(point_name(visit), {})[visit["round"]] = visit["median_us"]
        left_out = json.loads(self.file.read_text())["method"]["notes"]
        found = 0
        for table in self.tables():
            for point in table["points"]:
                name = point_name({"op": table["op"], "params": table.get("params", {}), **point})
                self.assertAlmostEqual(point["median_us"], statistics.median(rounds.pop(name).values()))
                found += 1
        self.assertGreater(found, 10)
        for name in rounds:  # those of layouts that are no tables of their own
            self.assertIn("layout", name)
            self.assertIn("within 5 % of the plain table", left_out)

    def test_killed_between_blocks_it_goes_on_with_the_next_and_measures_sustained_ones_once(self):
        arguments = ("--out", "h.json", "--quick", "--only", "checks", "--resume")
        process = self.start(*arguments)
        while len(self.visits()) < 4:
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.kill()
        process.communicate(timeout=60)
        kept = self.visits()
        status, printed, err = self.run_program(*arguments)
        self.assertEqual((status, err), (0, ""), printed)
        visits = self.visits()
        self.assertEqual(visits[:len(kept)], kept)
        self.assertEqual({visit["round"] for visit in visits if visit["sweep"] == "checks_sustained"}, {1})
        self.assertEqual({visit["sweep"] for visit in visits}, {"checks", "checks_sustained"})
        self.assertIn({1, 2}, ({visit["round"] for visit in visits if visit["sweep"] == "checks"} & {1, 2},))
        self.assertEqual(self.tables(), [])
        found = {point_name(visit) for visit in visits}
        self.assertEqual(len(json.loads(self.file.read_text())["checks"]), len(found))

    def test_told_to_stop_it_leaves_a_file_of_what_it_has(self):
        process = self.start("--out", "h.json", "--quick")
        while len(self.visits()) < 5:
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        measured = {point_name(visit) for visit in self.visits() if "ceiling" not in visit}
        found = {point_name({"op": table["op"], "params": table.get("params", {}), **point})
                 for table in self.tables() for point in table["points"]}
        self.assertLessEqual(found, measured)
        self.assertEqual(sorted(os.listdir(self.folder)), ["h.json", "h.json.journal"])

    def test_an_interrupt_stops_it_as_well(self):
        process = self.start("--out", "h.json", "--quick")
        while len(self.visits()) < 2:
            self.assertIsNone(process.poll())
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        printed, err = process.communicate(timeout=60)
        self.assertEqual((process.returncode, err), (128 + signal.SIGINT, ""), printed)
        self.assertRegex(printed, r"\n\d+ of \d+ points measured before the stop signal; continue with --resume\n$")
        self.assertTrue(self.file.exists())

    def test_a_journal_is_gone_on_with_only_when_asked_and_only_by_the_same_calibration(self):
        arguments = ("--out", "h.json", "--quick", "--only", "launch")
        self.assertEqual(self.run_program(*arguments)[0], 0)
        before = self.journal.read_text()
        self.refused("h.json.journal: already exists; continue it with --resume, or remove it to start over", *arguments)
        self.refused('h.json.journal:1: belongs to a different calibration: argv: ["--rounds","2","--seed","1","--quick","--only",'
                     '"launch"] there, ["--rounds","2","--seed","1","--quick"] here; remove it to start over, or use a different '
                     '--out', "--out", "h.json", "--quick", "--resume")
        self.assertEqual(self.journal.read_text(), before)
        self.journal.write_text(before.replace("emulated (no GPU)", "NVIDIA H200"))
        self.refused("h.json.journal:1: belongs to a different calibration: machine gpu: 'NVIDIA H200' there, 'emulated (no GPU)' here; remove it to start over, or use a different --out", *arguments, "--resume")
        self.journal.write_text(before)
        self.assertEqual(self.run_program(*arguments, "--resume", "--deadline-s", "60")[0], 0)
        # Nothing but what a sentinel makes it do again: emulated times are not steady.
        gone_on = self.journal.read_text()
        self.assertTrue(gone_on.startswith(before))
        self.assertEqual([visit for visit in self.visits() if not visit.get("again")],
                         [record["visit"] for record in map(json.loads, before.splitlines())
                          if "visit" in record and not record["visit"].get("again")])

    def test_what_cannot_be_done_is_one_line_and_leaves_nothing(self):
        self.refused("cannot write none/h.json: No such file or directory", "--out", "none/h.json")
        self.refused("cannot write .: Is a directory", "--out", ".")
        self.refused("--ranks is 2, but there is 1 GPU: each rank needs its own GPU, because ranks that share one cannot be timed",
                     "--out", "h.json", "--ranks", "2")
        self.refused("--only 'nonsense' selects no point; see --list", "--out", "h.json", "--only", "nonsense")
        self.refused("nothing was measured before the deadline; raise --deadline-s",
                     "--out", "h.json", "--deadline-s", "1e-9")
        self.refused("--out FILE is required; see --help", "--quick")
        self.assertEqual(os.listdir(self.folder), [])

    def start_ranks(self, ranks, *arguments, **environment):
        """As torchrun or Slurm does."""
        return [subprocess.Popen([PROGRAM, "--out", "h.json", "--quick", "--id-file", "id", *arguments], cwd=self.folder,
                                 text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**os.environ, "RANK": str(rank), "WORLD_SIZE": str(ranks), "LOCAL_RANK": str(rank), "SIMT_DEVICES": str(ranks),
                                      "TORCHELASTIC_RUN_ID": "one", **environment}) for rank in range(ranks)]

    def end_ranks(self, processes):
        ends = [(*process.communicate(timeout=120), process.returncode) for process in processes]
        return [status for _, _, status in ends], [out for out, _, _ in ends], [err for _, err, _ in ends]

    def test_ranks_measure_collectives_together_and_rank_0_writes(self):
        statuses, outs, errs = self.end_ranks(self.start_ranks(4))
        self.assertEqual((statuses, errs), ([0] * 4, [""] * 4), outs)
        self.assertEqual(outs[1:], [""] * 3)
        self.assertRegex(outs[0], r"\nall \d+ points measured\n$")
        tables = {(table["op"], table["params"]["ranks"]) for table in self.tables()}
        self.assertEqual(tables, {(op, ranks) for ranks in (2, 4) for op in (
            "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv")})
        self.assertEqual({point["nwrong"] for table in self.tables() for point in table["points"]}, {0})
        self.assertEqual(sorted(os.listdir(self.folder)), ["h.json", "h.json.journal"])

    def test_ranks_go_on_where_they_were_killed(self):
        processes = self.start_ranks(2)
        while len(self.visits()) < 5:
            self.assertIsNone(processes[0].poll())
            time.sleep(0.02)
        for process in processes:
            process.kill()
        self.end_ranks(processes)
        (self.folder / "id").unlink(missing_ok=True)
        kept = self.visits()
        statuses, outs, errs = self.end_ranks(self.start_ranks(2, "--resume", TORCHELASTIC_RUN_ID="two"))
        self.assertEqual((statuses, errs), ([0] * 2, [""] * 2), outs)
        visits = self.visits()
        self.assertEqual(visits[:len(kept)], kept)
        names = [(point_name(visit), visit["round"], visit.get("again", False)) for visit in visits]
        self.assertEqual(len(names), len(set(names)))

    def test_ranks_are_told_to_stop_by_the_first(self):
        processes = self.start_ranks(2)
        while len(self.visits()) < 3:
            self.assertIsNone(processes[0].poll())
            time.sleep(0.02)
        processes[0].send_signal(signal.SIGTERM)
        statuses, outs, errs = self.end_ranks(processes)
        self.assertEqual((statuses, errs), ([128 + signal.SIGTERM, 0], ["", ""]), outs)
        self.assertIn("before the stop signal; continue with --resume", outs[0])
        self.assertGreater(len(self.tables()), 0)

    def test_ranks_that_see_one_gpu_each_take_it_and_are_refused_where_it_is_the_same(self):
        statuses, outs, errs = self.end_ranks(self.start_ranks(2, SIMT_DEVICES="1"))
        line = ("goodput-calibrate: ranks 0 and 1 share GPU 00000000:00:00.0: they would take turns, so their times would be meaningless (correctness_only); start one rank per GPU\n")
        self.assertEqual((statuses, outs, errs), ([1] * 2, [""] * 2, [line] * 2))
        self.assertNotIn("h.json.journal", os.listdir(self.folder))

    def test_a_rank_that_has_no_gpu_of_its_own_says_so(self):
        *others, last = self.start_ranks(3, SIMT_DEVICES="2")
        statuses, _, errs = self.end_ranks([last])
        self.assertEqual((statuses, errs), ([1], ["goodput-calibrate: this is local process 2 of a machine that has 2 GPUs: start one process per GPU\n"]))
        for process in others:  # whoever started them does so, or they wait in vain
            process.kill()
        self.end_ranks(others)

    def test_where_there_are_several_gpus_collectives_come_after_all_else_in_one_file(self):
        done = subprocess.run([PROGRAM, "--out", "h.json", "--quick", "--only", "dtype=fp"], cwd=self.folder, text=True,
                              env={**os.environ, "SIMT_DEVICES": "2"}, capture_output=True, timeout=120)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertEqual({table["op"] for table in self.tables()},
                         {"gemm", "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "send_recv"})
        self.assertEqual({visit["op"] for visit in self.visits()[:2]}, {"gemm"})
        self.assertEqual(json.loads(self.file.read_text())["machine"]["gpus"], 2)
        self.assertEqual(done.stdout.count(" points measured\n"), 2)

    def test_without_a_gpu_it_is_skipped_whatever_was_asked_for(self):
        for arguments in ((), ("--ranks", "2")):
            done = subprocess.run([PROGRAM, "--out", "h.json", *arguments], cwd=self.folder, text=True, capture_output=True,
                                  env={**os.environ, "SIMT_DEVICES": "0"}, timeout=60)
            self.assertEqual((done.returncode, done.stderr), (77, ""))
            self.assertRegex(done.stdout, "^skipped: .*\\n$")
        self.assertEqual(os.listdir(self.folder), [])

    def test_the_list_needs_no_file(self):
        status, out, err = self.run_program("--list", "--only", "d2h")
        self.assertEqual((status, err), (0, ""))
        self.assertRegex(out, r"^points  about s  sweep +table\n +9 +\d+\.\d  host_copy +d2h pinned\n")
        self.assertRegex(out, r" all \d+ tables in 2 rounds, including sentinels and a third round of some points\n$")
        self.assertEqual(os.listdir(self.folder), [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
