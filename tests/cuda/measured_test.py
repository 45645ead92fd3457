"""Tests of gpu/measured, in a repository that is a page, with results that are made up."""

import copy
import json
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "gpu/measured"
PAGE = """\
# A page

<!-- measured: runs -->
| GPU | run | ended | CUDA driver, runtime |
|---|---|---|---|
| not measured | not measured | not measured | not measured |
<!-- end -->

Ceilings:

<!-- measured: ceilings -->
| reads : writes | GPU | GB/s | at the end | drift |
|---|---|---|---|---|
| 1 : 1 | not measured | not measured | not measured | not measured |
| 8 : 1 | not measured | not measured | not measured | not measured |
<!-- end -->
<!-- measured: points -->
| op | shape | path | estimate | GPU | events, us | replays, us | share, events | share, replays | SM MHz | verdict |
|---|---|:--|---|---|---|---|---|---|---|---|
| scatter | T=16 d=8 k=8 | bulk | 90-99 % | not measured | not measured | not measured | not measured | not measured | not measured | not measured |
| schedule | R=4 E=8 | packed | - | not measured | not measured | not measured | not measured | not measured | not measured | not measured |
| combine | T=16 d=8 k=8 | vector | - | not measured | not measured | not measured | not measured | not measured | not measured | not measured |
<!-- end -->

The end.
"""
RIGHT = {"tier": "measured", "nwrong": 0, "compared": 64}
STEADY = {"sm_mhz": {"before": 1980, "after": 1980}, "steady_clock": True, "warm_up": {"ended": "steady"},
          "stopped": "steady"}
RESULT = {
    "schema": "goodput.dispatch_bench/2", "tier": "measured", "ended": "done",
    "machine": {"gpu": "NVIDIA Made-Up 9", "cuda_driver": "13.0", "cuda_runtime": "13.1"},
    "run": {"date": "2001-02-03T04:05:06Z", "argv": ["--json", "dispatch.json"]},
    "method": "made up", "notes": [],
    "ceilings": [
        {"reads": 1, "writes": 1, "tier": "measured", "gb_per_s": 1234.56, "kernel": "bulk", "drift": 0.004,
         "again": {"gb_per_s": 1229.6, "median_us": 8, "sm_mhz": None}, "tried": [{"kernel": "bulk", "nwrong": 0}]},
        {"reads": 8, "writes": 1, "tier": "measured", "gb_per_s": None, "kernel": None, "again": None, "drift": None,
         "tried": []}],
    "points": [
        {"op": "scatter", "shape": "T=16 d=8 k=8", "path": "bulk", **RIGHT, "median_us": 281.44, "share_of_ceiling": 0.9111,
         "graph": {"median_us": 1000.6, "share_of_ceiling": 0.9222, **STEADY}, **STEADY, "target_share": 0.85, "target": "met"},
        {"op": "schedule", "shape": "R=4 E=8", "path": "packed", **RIGHT, "median_us": 9.876,
         **STEADY, "sm_mhz": {"before": 1500.2, "after": 1980}, "steady_clock": False, "target_us": 12, "target": "missed"},
        {"op": "combine", "shape": "T=16 d=8 k=8", "path": "vector", "skipped": "deadline"}]}
FILLED = [
    "| Made-Up 9 | [2001-02-03-made-up-9](measurements/2001-02-03-made-up-9/) | done | 13.0, 13.1 |",
    "| 1 : 1 | Made-Up 9 | 1235 | 1230 | 0.4 % |",
    "| 8 : 1 | Made-Up 9 | not measured | not measured | not measured |",
    "| scatter | T=16 d=8 k=8 | bulk | 90-99 % | Made-Up 9 | 281.4 | 1001 | 91.1 % | 92.2 % | 1980 | met |",
    "| schedule | R=4 E=8 | packed | - | Made-Up 9 | 9.88 | - | - | - | 1500>1980 | missed, by events |",
    "| combine | T=16 d=8 k=8 | vector | - | Made-Up 9 |" + " not measured |" * 6]


def rows(page):
    return [line for line in page.splitlines() if line.startswith("|") and not line.startswith(("|--", "| GPU", "| reads", "| op"))]


class Measured(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name) / "repository"
        self.results = Path(folder.name) / "results"
        self.page = self.root / "docs/gpu.md"
        self.page.parent.mkdir(parents=True)
        self.results.mkdir()
        self.page.write_text(PAGE)
        self.write(RESULT)

    def write(self, content, name="dispatch.json"):
        (self.results / name).write_text(json.dumps(content, indent=2))

    def changed(self, **members):
        return {**copy.deepcopy(RESULT), **members}

    def run_script(self, *arguments):
        done = subprocess.run([sys.executable, "-B", SCRIPT, *arguments, "--root", self.root], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode, done.stdout

    def add(self):
        status, printed = self.run_script(self.results)
        self.assertEqual(status, 0, printed)

    def replace(self):
        shutil.rmtree(self.root / "docs/measurements", ignore_errors=True)
        self.add()

    def files(self):
        return {path.relative_to(self.root).as_posix(): path.read_bytes()
                for path in self.root.rglob("*") if path.is_file()}

    def refused(self, text, *arguments):
        """One line that says so, and nothing written."""
        before = self.files()
        status, printed = self.run_script(*(arguments or (self.results,)))
        self.assertEqual((status, printed.count("\n")), (1, 1), printed)
        self.assertTrue(printed.startswith("measured: "), printed)
        self.assertIn(text, printed)
        self.assertEqual(self.files(), before)
        self.assertEqual(list((self.root / "docs").glob("measurements/.*")), [])


class Filling(Measured):
    def test_results_are_kept_as_printed_and_fill_the_tables(self):
        (self.results / "summary.txt").write_text("as printed\n")
        (self.results / "build.txt").write_text("paths of the machine\n")
        self.write(self.changed(ended="running", points=[]), "dispatch-again.json")
        self.assertEqual(self.run_script(self.results), (
            0, "docs/measurements/2001-02-03-made-up-9: 3 files; docs/gpu.md: updated\n"))
        folder = self.root / "docs/measurements/2001-02-03-made-up-9"
        self.assertEqual(sorted(file.name for file in folder.iterdir()), ["dispatch-again.json", "dispatch.json", "summary.txt"])
        self.assertEqual((folder / "dispatch.json").read_bytes(), (self.results / "dispatch.json").read_bytes())
        self.assertEqual(rows(self.page.read_text()), FILLED)
        self.assertEqual([line for line in self.page.read_text().splitlines() if not line.startswith("|")],
                         [line for line in PAGE.splitlines() if not line.startswith("|")])
        self.assertEqual(self.run_script("--check"), (0, ""))

    def test_the_same_once_more_changes_nothing(self):
        self.add()
        before = self.files()
        self.add()
        self.assertEqual(self.files(), before)

    def test_the_newest_of_every_gpu_has_a_row(self):
        self.add()
        older = self.changed(run={"date": "2001-01-03T04:05:06Z", "argv": []})
        older["points"][0]["median_us"] = 5
        self.write(older)
        self.add()
        self.assertEqual(rows(self.page.read_text()), FILLED)
        other = self.changed(machine={**RESULT["machine"], "gpu": "NVIDIA Also Made Up"})
        other["points"][0]["median_us"] = 0.5
        self.write(other)
        self.add()
        lines = rows(self.page.read_text())
        self.assertEqual(len(lines), 2 * len(FILLED))
        self.assertEqual(lines[1::2], FILLED)
        self.assertTrue(lines[6].startswith("| scatter | T=16 d=8 k=8 | bulk | 90-99 % | Also Made Up | 0.500 |"), lines[6])
        self.assertEqual(self.run_script("--check"), (0, ""))
        for folder in (self.root / "docs/measurements").iterdir():
            for file in folder.iterdir():
                file.unlink()
            folder.rmdir()
        self.assertEqual(self.run_script("--renew"), (0, ""))
        self.assertEqual(self.page.read_text(), PAGE)

    def test_a_whole_run_stays_when_a_newer_one_is_not(self):
        def run(day, *argv, **members):
            result = self.changed(run={"date": f"2001-02-{day:02}T04:05:06Z", "argv": argv}, **members)
            self.write(result)
            self.add()
            return rows(self.page.read_text())[0].split(" | ")[1][1:11]

        self.assertEqual(run(1, "--only", "scatter"), "2001-02-01")
        self.assertEqual(run(2, ended="deadline"), "2001-02-02")
        self.assertEqual(run(3, "--json", "dispatch.json"), "2001-02-03")
        self.assertEqual(run(4, ended="running"), "2001-02-03")
        self.assertEqual(run(5, "--only", "scatter"), "2001-02-03")
        self.assertEqual(run(6), "2001-02-06")
        self.assertEqual(run(5, machine={**RESULT["machine"], "gpu": "NVIDIA Also Made Up"}, ended="running"), "2001-02-05")
        self.assertEqual(self.run_script("--check"), (0, ""))

    def test_clocks_of_single_runs_and_of_replays(self):
        def clock(before, after, ended="steady"):
            return {"sm_mhz": {"before": before, "after": after}, "steady_clock": False, "warm_up": {"ended": ended}}

        for events, replays, cell in (
                (STEADY, {**STEADY, "sm_mhz": {"before": 1755, "after": 1755}}, "1980"),
                (clock(1980, 1755), STEADY, "1980>1755"),
                (STEADY, clock(1979.6, 1755), "1980, graph 1980>1755"),
                (clock(1500, 1600), clock(1980, 1755), "1500>1600, graph 1980>1755"),
                (STEADY, clock(1980, 1980, "never steady"), "1980, graph ~1980"),
                (clock(None, None, "no clock"), clock(None, None, "no clock"), "unknown"),
                (STEADY, clock(1980, None), "1980, graph unknown")):
            result = self.changed()
            result["points"][0].update(events)
            result["points"][0]["graph"].update(replays)
            self.write(result)
            self.replace()
            self.assertIn(f"| 92.2 % | {cell} | met |", self.page.read_text())

    def test_what_a_verdict_rests_on(self):
        def verdict(events=(), graph=(), **members):
            result = self.changed()
            point = result["points"][0]
            point.update(events, **members)
            point["graph"].update(graph or ())
            if graph is None:
                del point["graph"]
            if "target" in members and members["target"] is None:
                del point["target"]
            self.write(result)
            self.replace()
            return rows(self.page.read_text())[3].split(" | ")[-1]

        cut = {"stopped": "deadline"}
        self.assertEqual(verdict(graph=None), "met, by events |")
        self.assertEqual(verdict(graph=None, target="-"), "- |")
        self.assertEqual(verdict(graph=None, target=None), "- |")
        for target in ("met", "missed", "-", None):
            self.assertEqual(verdict(events=cut, target=target), "cut |")
            self.assertEqual(verdict(graph=cut, target=target), "cut |")
            self.assertEqual(verdict(events=cut, graph=None, target=target), "cut |")


class Checking(Measured):
    def test_a_page_without_results_says_not_measured(self):
        self.assertEqual(self.run_script("--check"), (0, ""))
        self.page.write_text(PAGE.replace("| 8 : 1 | not measured |", "| 8 : 1 | Made-Up 9 |"))
        self.refused("docs/gpu.md:15: contains '| 8 : 1 | Made-Up 9 | not measured | not measured | not measured |', but docs/measurements "
                     "gives '| 8 : 1 | not measured | not measured | not measured | not measured |'; run gpu/measured --renew to update it",
                     "--check")

    def test_a_figure_copied_by_hand_is_found(self):
        self.add()
        self.page.write_text(self.page.read_text().replace("281.4", "281.3"))
        self.refused("docs/gpu.md:20: contains '| scatter ", "--check")
        self.assertEqual(self.run_script("--renew"), (0, ""))
        self.assertEqual(rows(self.page.read_text()), FILLED)

    def test_kept_results_are_judged_too(self):
        self.add()
        folder = self.root / "docs/measurements/2001-02-03-made-up-9"
        folder.rename(folder.with_name("2001-02-04-made-up-9"))
        self.refused("2001-02-04-made-up-9: contains the results of 2001-02-03-made-up-9", "--check")
        (self.root / "docs/measurements/2001-02-04-made-up-9/dispatch.json").unlink()
        self.refused("2001-02-04-made-up-9: there is no dispatch.json", "--check")


class Refusing(Measured):
    def test_what_is_no_measurement(self):
        only = "only results measured on a GPU may go into the docs"
        self.write(self.changed(tier="emulated"))
        self.refused(f"dispatch.json: the tier is 'emulated', but {only}")
        result = self.changed()
        del result["tier"]
        self.write(result)
        self.refused(f"the tier is None, but {only}")
        result = self.changed()
        result["points"][1]["tier"] = "correctness_only"
        self.write(result)
        self.refused(f"the tier of schedule R=4 E=8 packed is 'correctness_only', but {only}")
        self.write(self.changed(run={**RESULT["run"], "argv": ["--quick"]}))
        self.refused("shapes of --quick are too small for meaningful numbers")

    def test_what_is_wrong_anywhere(self):
        result = self.changed()
        result["points"][0]["nwrong"] = 2
        self.write(result)
        self.refused("dispatch.json: 2 results of scatter T=16 d=8 k=8 bulk are wrong")
        result = self.changed()
        result["ceilings"][0]["tried"][0]["nwrong"] = 1
        self.write(result)
        self.refused("dispatch.json: 1 results of bulk are wrong")
        self.write(RESULT)
        self.write(result, "dispatch-again.json")
        self.refused("dispatch-again.json: 1 results of bulk are wrong")
        result = self.changed()
        result["points"][0]["compared"] = 0
        self.write(result)
        self.refused("no result of scatter T=16 d=8 k=8 bulk was compared")

    def test_another_schema(self):
        self.write(self.changed(schema="goodput.dispatch_bench/1"))
        self.refused("the schema must be 'goodput.dispatch_bench/2', not 'goodput.dispatch_bench/1'")
        self.write([1])
        self.refused("the schema must be 'goodput.dispatch_bench/2', not None")

    def test_what_is_missing(self):
        result = self.changed()
        del result["points"][0]["sm_mhz"]
        self.write(result)
        self.refused("dispatch.json: a member is missing or has the wrong type: 'sm_mhz'")
        self.write(self.changed(points=RESULT["points"][2:]))
        self.refused("dispatch.json: no point was measured")
        self.write(self.changed(run={"date": "yesterday", "argv": []}))
        self.refused("cannot make a folder name from the date 'yesterday' and the GPU 'NVIDIA Made-Up 9'")
        (self.results / "dispatch.json").write_text('{"schema": ')
        self.refused("dispatch.json: is not valid JSON: ")
        (self.results / "dispatch.json").unlink()
        self.refused("results: there is no dispatch.json")

    def test_a_gpu_test_that_did_not_pass(self):
        log = self.results / "gpu_test.txt"
        begin = "== gpu_test, 2001-02-03T04:05:06Z\n"
        passed = begin + "passed scatter\n12 passed, 0 failed, 3 skipped: this GPU has no bulk copies\n"
        failed = begin + "FAILED scatter\n11 passed, 1 failed\n"
        for text in ("", begin, failed, "12 passed, 0 fail", passed + failed, passed + begin + "passed scatter\n"):
            log.write_text(text)
            self.refused("gpu_test.txt: the last run has no line 'N passed, 0 failed'")
        log.write_text(failed + passed)
        self.add()

    def test_what_names_a_machine_or_a_person(self):
        for line, what in (("GPU-01234567-89ab", "a UUID"), ("/home/somebody/x", "a home folder"), ("Serial: 1", "a serial number")):
            (self.results / "nvidia-smi.txt").write_text(f"fine\n{line}\n")
            self.refused(f"nvidia-smi.txt:2: contains {what}, which must not go into the docs")

    def test_a_folder_with_other_content(self):
        self.add()
        (self.results / "summary.txt").write_text("new\n")
        self.refused("2001-02-03-made-up-9: already exists with different content; remove it first to replace it")

    def test_a_page_that_cannot_be_filled(self):
        for has, instead, text in (
                ("<!-- measured: ", "<!-- ", "docs/gpu.md: has no <!-- measured: NAME -->"),
                ("<!-- end -->", "", "docs/gpu.md: 'measured: runs' has no <!-- end -->"),
                ("|---|---|---|---|\n", "", "'measured: runs' must be a table with a heading, a separator and at least one row"),
                ("| op | shape |", "| op | size |", "'measured: points' must have the columns op, shape and path, or reads : writes"),
                ("| 8 : 1 |", "| 8 | 1 |", "'measured: ceilings' has 5 columns, but this row does not: '| 8 | 1 | not measured |")):
            self.page.write_text(PAGE.replace(has, instead))
            self.refused(text)

    def test_bad_usage(self):
        for arguments in ((self.results, "--check"), ("--check", "--renew"), ()):
            status, printed = self.run_script(*arguments)
            self.assertEqual((status, printed), (1, "measured: give either a FOLDER, --check or --renew; see --help\n"))
        self.refused("unrecognized arguments: --fast; see --help", "--fast")


if __name__ == "__main__":
    unittest.main()
