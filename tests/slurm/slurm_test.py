"""Sweeps under a real Slurm, which this starts and stops: the tasks of a step or of an array, killed or not, leave the same
results as one process. And the ranks of a step find each other.

    slurm_test.py --goodput PROGRAM --nccl-test nccl_test_emulated

Prints `skipped: REASON` where there is no Slurm, unless GOODPUT_REQUIRE_SLURM is set: then that is a failure.
"""

import argparse
import contextlib
import json
import os
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from local_slurm import Failed, LocalSlurm, Unavailable, plain_environment

TASKS = 4
SAME_BYTES = ("results.csv", "summary.csv", "results.parquet")
PATIENCE_S = 60  # for a job of a second

# 52 points of about 50 ms each, so that a task can be caught between two of them. Four of them, with one node, cannot be run.
SCENARIO = {"plan": "lazarus-gpt-s", "failures": {"model": "exponential", "nodes": 12, "mtbf_hours": 10, "repair_s": 600},
            "samples": 3_000_000_000, "trials": 3, "policies": {"checkpoint": {}, "gemini": {}}}
VARY = ["--vary", "/failures/mtbf_hours=8,10,12,14", "--vary", "/nodes=5..16,1"]
FEW = ["--set", "/samples=1000000", "--vary", "/failures/mtbf_hours=10,100", "--until", "goodput±2%"]


class Wrong(Exception):
    """Something is not as it should be."""


def check(is_so, what):
    if not is_so:
        raise Wrong(what)


def rows(database):
    """All that is in it: by table, how it was made and its rows."""
    with contextlib.closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as opened:
        tables = opened.execute("SELECT name, sql FROM sqlite_master WHERE type = 'table' ORDER BY name").fetchall()
        return {table: (sql, opened.execute(f'SELECT * FROM "{table}"').fetchall()) for table, sql in tables}


def check_same(folder, reference):
    for name in SAME_BYTES:
        check((folder / name).exists() == (reference / name).exists(), f"{name} is in one of {folder} and {reference} only")
        if not (reference / name).exists():
            continue
        found, wanted = (folder / name).read_bytes(), (reference / name).read_bytes()
        if found != wanted:
            lines = zip(found.split(b"\n"), wanted.split(b"\n"))
            differs = next((f"{ours} instead of {theirs}" for ours, theirs in lines if ours != theirs), "its length")
            raise Wrong(f"{folder / name} differs from that of one process: {differs}")
    check((reference / "results.csv").stat().st_size > 0, f"nothing is in {reference / 'results.csv'}")
    found, wanted = rows(folder / "results.sqlite"), rows(reference / "results.sqlite")
    check(found.keys() == wanted.keys(), f"tables {list(found)} instead of {list(wanted)}")
    for table, content in wanted.items():
        check(found[table] == content, f"{folder}: table {table} differs from that of one process")


def points(journal):
    """The numbers of the points in its lines, in their order."""
    lines = (json.loads(line) for line in journal)
    return [line["point"] for line in lines if "point" in line]


def whole_lines(path):
    """Of a journal that may be in the middle of a line; none where there is no such file."""
    try:
        return path.read_bytes().splitlines(keepends=True)[:-1]
    except FileNotFoundError:
        return []


class SlurmTest:
    def __init__(self, goodput, nccl_test, slurm, folder):
        self.goodput, self.nccl_test, self.slurm, self.folder = goodput, nccl_test, slurm, folder
        (folder / "job.json").write_text(json.dumps(SCENARIO))
        self.one, self.step, self.array = (folder / name for name in ("one", "step", "array"))

    def sweep(self, out, *options, vary=VARY):
        return [self.goodput, "sweep", "job.json", *vary, "--out", out.name, *options]

    def run(self, command, **options):
        return self.slurm.run(command, cwd=self.folder, **options)

    def alone(self, command):
        return self.run(command, env=plain_environment())

    def refused(self, command, said):
        done = self.slurm.attempt(command, cwd=self.folder)
        check(done.returncode != 0, f"is not refused: {command}")
        check(said in done.stdout, f"no `{said}` in what it says:\n{done.stdout}")

    def submit(self, out, *options):
        """The number of an array of the script that goodput prints; submitted from elsewhere."""
        script = self.folder / f"{out.name}.sh"
        script.write_text(self.alone(self.sweep(out, *options, "--emit-sbatch")))
        return self.slurm.run(["sbatch", "--parsable", f"--array=0-{TASKS - 1}", f"--output={self.log(out, '%a')}", script],
                              cwd="/").strip()

    def log(self, out, task):
        return self.folder / f"{out.name}-{task}.log"

    def journal(self, out, task):
        return out / "shards" / f"{task}-of-{TASKS}.jsonl"

    def part(self, out, task):
        return out / "shards" / f"{task}-of-{TASKS}.jsonl.part"

    def until(self, reached, what):
        end = time.monotonic() + PATIENCE_S
        while not (result := reached()):
            check(time.monotonic() < end, f"no {what} after {PATIENCE_S} s; jobs: {self.slurm.jobs()}")
            time.sleep(0.005)
        return result

    def await_job(self, job, out, **states):
        """Its end, and that its tasks have `states`, by default all COMPLETED."""
        self.until(lambda: not any(name.split("_")[0] == job for name in self.slurm.jobs()), f"the end of job {job}")
        for task in range(TASKS):
            wanted = states.get(f"task{task}", "JobState=COMPLETED")
            state = self.slurm.run(["scontrol", "show", "--oneliner", "job", f"{job}_{task}"])
            check(wanted in state, f"task {task} is not {wanted}: {state}\n{self.log(out, task).read_text()}")

    def process(self, job, task):
        """Of goodput in a task of an array."""
        marks = {f"SLURM_ARRAY_JOB_ID={job}".encode(), f"SLURM_ARRAY_TASK_ID={task}".encode()}
        for process in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                command = (process / "cmdline").read_bytes().split(b"\0")
                if b"sweep" in command[:3] and marks <= set((process / "environ").read_bytes().split(b"\0")):
                    return int(process.name)
        raise Wrong(f"task {task} is over already")

    def stop_in_the_middle(self, job, out, tasks):
        """Stops goodput in these tasks between two of their points; the lines of their journals by then."""
        waiting = set(tasks)

        def stop_those_that_have_begun():
            for task in sorted(waiting):
                if points(whole_lines(self.part(out, task))):
                    os.kill(self.process(job, task), signal.SIGSTOP)
                    waiting.remove(task)
            return not waiting
        self.until(stop_those_that_have_begun, f"points of tasks {tasks}")
        check(all(self.part(out, task).exists() for task in tasks), "stopped too late")
        return {task: whole_lines(self.part(out, task)) for task in tasks}

    # The cases, in this order.

    def one_process(self):
        self.alone(self.sweep(self.one))

    def tasks_of_a_step_are_the_same_as_one_process(self):
        self.run(["srun", "-n", TASKS, *self.sweep(self.step)])
        check_same(self.step, self.one)

    def tasks_of_an_array_are_the_same_as_one_process(self):
        self.await_job(self.submit(self.array), self.array)
        check_same(self.array, self.one)

    def tasks_that_are_killed_go_on_where_they_were(self):
        """Task 1 by SIGKILL, as when memory runs out; 2 by Slurm, for a job that is worth more; 3 by its user."""
        out = self.folder / "killed"
        job = self.submit(out)
        before = self.stop_in_the_middle(job, out, (1, 2, 3))
        os.kill(self.process(job, 1), signal.SIGKILL)
        self.slurm.run(["scontrol", "requeue", f"{job}_2"])
        self.slurm.run(["scancel", f"{job}_3"])
        self.await_job(job, out, task1="Restarts=1", task2="Restarts=1", task3="JobState=CANCELLED")
        self.refused([self.goodput, "merge", out], f"shard 3 of {TASKS} is not finished")
        self.await_job(self.submit(out, "--resume"), out)
        for task, lines in before.items():
            journal = self.journal(out, task).read_bytes().splitlines(keepends=True)
            check(journal[:len(lines)] == lines, f"task {task} began anew")
            check(len(set(points(journal))) == len(points(journal)), f"task {task} ran points again: {points(journal)}")
        check_same(out, self.one)

    def merge_names_the_shards_that_are_missing(self):
        out = self.folder / "missing"
        shutil.copytree(self.array, out)
        self.journal(out, 2).unlink()
        self.refused([self.goodput, "merge", out], f"shard 2 of {TASKS} is missing")
        shutil.copy(self.journal(self.array, 2), self.journal(out, 2))
        for name in SAME_BYTES:
            (out / name).unlink(missing_ok=True)
        self.alone([self.goodput, "merge", out])
        check_same(out, self.one)

    def a_second_sweep_is_refused(self):
        self.refused(self.sweep(self.one), "already contains a sweep")
        self.refused(["srun", "-n", TASKS, *self.sweep(self.step)], "already contains a sweep")
        self.refused(["srun", "-n", TASKS, *self.sweep(self.step, vary=FEW)], "contains a different sweep")
        self.refused(["srun", "-n", TASKS + 1, "--overcommit", *self.sweep(self.step, "--resume")], f"contains a sweep in {TASKS} shards")
        check_same(self.step, self.one)

    def other_ways_to_share_out_are_the_same(self):
        """Two points: most of these tasks have none."""
        alone = self.folder / "few"
        self.alone(self.sweep(alone, vary=FEW))
        goodput = shlex.join(map(str, self.sweep(self.folder / "OUT", vary=FEW)))
        for name, job in {"many_tasks": ["srun", "-n", TASKS, "bash", "-c", goodput],
                          "script_of_four_tasks": ["sbatch", "-n", TASKS, "--wrap", goodput],
                          "array_of_steps": ["sbatch", "--array=3-7:2", "-n", 2, "--wrap", f"srun {goodput}"]}.items():
            out = self.folder / name
            command = [str(word).replace("OUT", name) for word in job]
            if command[0] == "sbatch":
                command[1:1] = ["--wait", f"--output={self.log(out, '%a')}"]
            self.run(command)
            check_same(out, alone)

    def ranks(self, **environment):
        """The ended step of four ranks on two nodes."""
        return self.slurm.attempt(["srun", "--nodes=2", f"--ntasks={TASKS}", "--kill-on-bad-exit=0", self.nccl_test, "--id-file",
                                   self.folder / "id", "--only", "migration"], cwd=self.folder,
                                  env={**self.slurm.environment, **environment})

    def ranks_of_a_step_find_each_other(self):
        done = self.ranks()
        check(done.returncode == 0 and done.stdout.endswith("3 passed, 0 failed\n"), done.stdout)
        check(not (self.folder / "id").exists(), "the id file is left")

    def a_rank_that_is_killed_ends_all_others(self):
        begin = time.monotonic()
        done = self.ranks(SIMT_NCCL_FAULTS="rank=2 die_at_call=20")
        check(done.returncode != 0 and "0 failed" not in done.stdout, done.stdout)
        for rank in (0, 1, 3):
            check(f"nccl_test: the communicator of rank {rank} of {TASKS}: " in done.stdout, f"rank {rank}: {done.stdout}")
        check(time.monotonic() - begin < 20, "it took too long")

    def an_id_file_of_another_run_is_refused(self):
        (self.folder / "id").write_text(f"goodput-nccl-id 1 ranks {TASKS} run 1.2.3\n{'00' * 128}\nend\n")
        done = self.ranks()
        check(done.returncode != 0, done.stdout)
        check("already exists: a run that was killed left it behind" in done.stdout, done.stdout)
        check(done.stdout.count("belongs to run 1.2.3, but this is run ") == TASKS - 1, done.stdout)
        (self.folder / "id").unlink()

    def run_all(self):
        """How many cases passed and failed."""
        cases = (self.one_process, self.tasks_of_a_step_are_the_same_as_one_process,
                 self.tasks_of_an_array_are_the_same_as_one_process, self.tasks_that_are_killed_go_on_where_they_were,
                 self.merge_names_the_shards_that_are_missing, self.a_second_sweep_is_refused,
                 self.other_ways_to_share_out_are_the_same, self.ranks_of_a_step_find_each_other,
                 self.a_rank_that_is_killed_ends_all_others, self.an_id_file_of_another_run_is_refused)
        passed = 0
        for case in cases:
            begin = time.monotonic()
            try:
                case()
            except (Wrong, Failed, OSError, subprocess.TimeoutExpired) as failure:
                print(f"failed: {case.__name__}: {failure}\n{self.slurm.logs()}")
            else:
                print(f"{case.__name__}: {time.monotonic() - begin:.1f} s")
                passed += 1
        return passed, len(cases) - passed


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=Path, required=True)
    parser.add_argument("--nccl-test", type=Path, required=True)
    arguments = parser.parse_args()
    try:
        with LocalSlurm() as slurm, tempfile.TemporaryDirectory() as folder:
            passed, failed = SlurmTest(
                arguments.goodput.resolve(), arguments.nccl_test.resolve(), slurm, Path(folder)).run_all()
    except Unavailable as reason:
        if "GOODPUT_REQUIRE_SLURM" in os.environ:
            sys.exit(f"failed: {reason}")
        print(f"skipped: {reason}")
        return
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
