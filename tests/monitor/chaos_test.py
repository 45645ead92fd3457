"""Whatever happens to the monitor and to its files: its database is that of a run that nobody disturbed, or says what is
missing.

    chaos_test.py --goodput PROGRAM [--jumping-clock LIBRARY] [--kills 50] [--seed N] [TEST...]

Killed at random moments; logs rotated in three ways, cut, truncated, in any order; the disk full; clocks set; two
monitors on one database, two processes on one log.
"""

import argparse
import dataclasses
import os
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from pathlib import Path

import log_writer
from monitor_process import Monitor, difference, exported, once, synthesise

PLAN = "chaos-plan.json"
PLAN_JSON = """{"model": "gpt-l", "cluster": "rtx3090-10",
 "parallel": {"dp": 4, "pp": 2, "micro_batch": 1, "global_batch": 16, "sequence_length": 1024, "schedule": "1f1b"}}"""
FAULT = [{"kind": "worker-fault", "dp": 1, "stage": 1, "factor": 2, "from_step": 60, "to_step": 140}]
STEPS = 200
FEW = 40
PATIENT = ("--no-pages", "--grace", "600")  # nothing is given up while a test goes on
IN_NAMESPACE = "GOODPUT_CHAOS_MOUNTS"
DISK_KIB = 4096

options = None
job = None    # of STEPS steps, in which incidents open and close
few = None    # its steps around the first incident
scratch = None


def setUpModule():
    global job, few, scratch
    scratch = Path(tempfile.mkdtemp(prefix="goodput-chaos-"))
    unittest.addModuleCleanup(shutil.rmtree, scratch)
    (scratch / PLAN).write_text(PLAN_JSON)
    job = log_writer.read_job(synthesise(options.goodput, scratch, "job", FAULT, STEPS, 1, scratch / PLAN))
    few = log_writer.Job(job.dp_size, job.pp_size, {step: job.steps[step] for step in range(50, 50 + FEW)})


def manner(**changes):
    """Of this run: equal for what is compared."""
    return log_writer.Manner(epoch_s=float(int(time.time()) - 7200), seed=options.seed, **changes)


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(dir=scratch))
        self.random = random.Random(f"{options.seed} {self.id()}")
        self.logs = self.folder / "logs" / "job"
        self.logs.mkdir(parents=True)  # a monitor may begin before its job does
        self.database = self.folder / "monitor.sqlite"

    def monitor(self, *arguments, environment=None, patient=PATIENT):
        running = Monitor(options.goodput, (self.logs, "--db", self.database, *patient, *arguments), environment)
        self.addCleanup(running.__exit__)
        return running

    def undisturbed(self, recorded, how):
        """The database of files that were there, whole, before the monitor was."""
        logs, database = self.folder / "undisturbed" / "job", self.folder / "undisturbed.sqlite"
        log_writer.write_all(recorded, dataclasses.replace(how, pieces=1, rotate_lines=0), logs)
        once(options.goodput, logs, "--db", database)
        return exported(options.goodput, database)

    def assert_undisturbed(self, recorded, how):
        """After what is still to be read was read."""
        once(options.goodput, self.logs, "--db", self.database)
        expected = self.undisturbed(recorded, how)
        self.assertEqual(len(expected["jobs"]), 1)
        database = exported(options.goodput, self.database)
        problems = [(step["run"], step["step"], step["status"], step.get("problem"))
                    for step in database["jobs"][0]["steps"] if step["status"] != "analysed"]
        self.assertEqual(difference(database, expected), "", f"{problems[:10]}")

    def assert_alive(self, running):
        self.assertIsNone(running.process.poll(), "\n".join(running.notes))


class Killed(Case):
    def test_at_random_moments(self):
        how = manner(pieces=2, rotate_lines=40, rotations_kept=6)
        # 20 steps a second: written faster, rotations would delete what a monitor that is being killed had no time to read.
        steps = log_writer.Job(job.dp_size, job.pp_size, dict(list(job.steps.items())[:4 * options.kills]))
        writer = threading.Thread(target=log_writer.write_all, args=(steps, how, self.logs), kwargs={"speed": 20})
        writer.start()
        told = 0
        for _ in range(options.kills):
            running = self.monitor()
            time.sleep(self.random.uniform(0, 0.35))
            running.kill()
            told += len(running.steps())
        writer.join()
        print(f"{options.kills} kills; {told} of {len(steps.steps)} steps were told of before one")
        self.assert_undisturbed(steps, how)

    def test_while_it_catches_up(self):
        how = manner()
        log_writer.write_all(job, how, self.logs)
        for _ in range(options.kills):
            running = self.monitor()
            time.sleep(self.random.uniform(0, 0.1))
            running.kill()
        self.assert_undisturbed(job, how)


class Files(Case):
    def check(self, how):
        running = self.monitor()
        log_writer.write_all(few, how, self.logs, speed=100)
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)

    def test_that_are_rotated_by_name(self):
        self.check(manner(rotate_lines=40, rotation="rename"))

    def test_that_are_copied_and_truncated(self):
        self.check(manner(rotate_lines=40, rotation="copytruncate"))

    def test_that_are_rotated_and_compressed(self):
        self.check(manner(rotate_lines=40, rotation="gzip"))

    def test_of_many_loggers_with_half_lines_and_cut_ones(self):
        self.check(manner(tensor_parallel=2, pieces=3, foreign=0.1, cut=0.1, rotate_lines=60, rotation="gzip", file_a="host",
                          ranks_a_host=2))

    def test_with_several_steps_a_record(self):
        self.check(manner(steps_a_record=4))

    def test_of_a_job_that_starts_again(self):
        self.check(manner(runs=((50, 80), (71, 89))))

    def test_that_come_in_any_order(self):
        how = manner()
        log_writer.write_all(few, how, self.folder / "aside")
        files = sorted((self.folder / "aside").rglob("*.log"))
        self.random.shuffle(files)
        running = self.monitor()
        for file in files:
            place = self.logs / file.relative_to(self.folder / "aside")
            place.parent.mkdir(exist_ok=True)
            file.rename(place)
            time.sleep(self.random.uniform(0, 0.1))
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)

    def test_that_are_truncated_after_they_were_read(self):
        how = manner()
        logs = self.enterContext(log_writer.LogFolder(self.logs))
        running = None
        for write in log_writer.Recorders(few, how).writes():
            logs.do(write)
            if running is None:
                running = self.monitor()
            if write.ends_step and write.step == 70:
                self.assertTrue(running.wait_for_steps(19), running.notes)
                time.sleep(0.5)
                for file in logs.open.values():
                    file.truncate(0)
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)

    def test_that_are_truncated_before_they_were_read_are_missed(self):
        how = manner()
        logs = self.enterContext(log_writer.LogFolder(self.logs))
        for write in log_writer.Recorders(few, how).writes():
            logs.do(write)
            if write.ends_step and write.step == 70:
                logs.open["node00/rank3.log"].truncate(0)
        once(options.goodput, self.logs, "--db", self.database, "--grace", "0")
        check_missing(self, exported(options.goodput, self.database), self.undisturbed(few, how), range(50, 71), 3)

    def test_of_a_worker_that_writes_nothing_are_missed(self):
        how = manner(missing=frozenset((3, step) for step in range(60, 65)))
        log_writer.write_all(few, how, self.logs)
        once(options.goodput, self.logs, "--db", self.database, "--grace", "0")
        check_missing(self, exported(options.goodput, self.database), self.undisturbed(few, dataclasses.replace(how, missing=())),
                      range(60, 65), 3)


def check_missing(test, database, expected, steps, rank):
    """That it names the rank in these steps, and has the others as they are."""
    for step, whole in zip(database["jobs"][0]["steps"], expected["jobs"][0]["steps"]):
        if step["step"] not in steps:
            for key in ("status", "ops", "slowdown", "causes"):
                test.assertEqual(difference(step.get(key), whole.get(key)), "")
            continue
        test.assertEqual(step["status"], "incomplete")
        test.assertIn(rank, [worker["rank"] for worker in step["missing"]])


class Clocks(Case):
    def test_of_the_monitor_that_is_set(self):
        if not options.jumping_clock:
            self.skipTest("no --jumping-clock")
        clock = self.folder / "clock"
        clock.write_bytes(struct.pack("d", 0))
        environment = {**os.environ, "LD_PRELOAD": str(options.jumping_clock), "GOODPUT_TEST_CLOCK": str(clock)}
        running = self.monitor(environment=environment, patient=("--no-pages", "--grace", "30"))
        how = manner()

        def jump(write):
            if write.step % 5 == 0 and not write.ends_step:
                with clock.open("r+b") as file:
                    file.write(struct.pack("d", self.random.choice((-86400.0, -1.0, 0.0, 3600.0, 86400.0))))

        log_writer.write_all(few, how, self.logs, speed=40, before=jump)
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)

    def test_of_the_job_that_are_set(self):
        how = manner(clock_jumps={60: 3600.0, 70: -5400.0})
        running = self.monitor()
        log_writer.write_all(few, how, self.logs, speed=100)
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)


class Two(Case):
    def test_monitors_on_one_database(self):
        how = manner()
        running = self.monitor()
        writer = threading.Thread(target=log_writer.write_all, args=(few, how, self.logs), kwargs={"speed": 40})
        writer.start()
        self.assertTrue(running.wait_for_steps(5), running.notes)
        second = subprocess.run([options.goodput, "monitor", self.logs, "--db", self.database, "--no-pages"], check=False,
                                capture_output=True, text=True)
        self.assertEqual(second.returncode, 1)
        self.assertRegex(second.stderr, r"^error: .*monitor\.sqlite")
        writer.join()
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)

    def test_processes_on_one_log(self):
        how = manner(file_a="host", ranks_a_host=16)
        halves = [log_writer.Job(few.dp_size, few.pp_size,
                                 {step: [record for record in records if record.rank // 4 == half]
                                  for step, records in few.steps.items()}) for half in range(2)]
        for half in halves:  # a step takes as long for both
            half.length_s = few.length_s
        running = self.monitor()
        writers = [threading.Thread(target=log_writer.write_all, args=(half, how, self.logs), kwargs={"speed": 60}) for half in halves]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        self.assertTrue(running.wait_for_steps(FEW - 2), running.notes)
        running.end()
        self.assert_undisturbed(few, how)


class Disk(Case):
    def test_that_is_full(self):
        """In a mount namespace of its own, with a file system in memory."""
        if IN_NAMESPACE not in os.environ:
            self.in_namespace()
            return
        disk = self.folder / "disk"
        disk.mkdir()
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={DISK_KIB}k", "tmpfs", disk], check=True)
        self.addCleanup(subprocess.run, ["umount", "--lazy", disk], check=True)
        self.database = disk / "monitor.sqlite"
        how = manner()
        logs = self.enterContext(log_writer.LogFolder(self.logs))
        running = self.monitor()
        for write in log_writer.Recorders(few, how).writes():
            logs.do(write)
            if not write.ends_step:
                continue
            if write.step == 60:
                self.assertTrue(running.wait_for_steps(8), running.notes)
                fill(disk / "filler")
            if write.step == 75:
                self.assertTrue(running.wait_for(lambda: running.notes), "it says nothing of a full disk")
                self.assert_alive(running)
                running.kill()
                running = self.monitor()
                time.sleep(0.2)
        (disk / "filler").unlink()
        if running.process.poll() is not None:  # it may refuse to start on a full disk, and says why
            self.assertEqual(running.finish(), 1)
            self.assertRegex("\n".join(running.notes), "error: .*monitor.sqlite")
        else:
            self.assertTrue(running.wait_for_steps(20), running.notes)
            running.end()
        self.assert_undisturbed(few, how)

    def in_namespace(self):
        arguments = [sys.executable, "-B", __file__, "--goodput", options.goodput, "--seed", str(options.seed), "Disk.test_that_is_full"]
        for flags in (("-m",), ("-Urm",)):
            if subprocess.run(["unshare", *flags, "true"], check=False, stderr=subprocess.DEVNULL).returncode == 0:
                done = subprocess.run(["unshare", *flags, *arguments], env={**os.environ, IN_NAMESPACE: "1"}, check=False,
                                      capture_output=True, text=True)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                return
        self.skipTest("no mount namespace can be had; it takes root, or user namespaces")


def fill(path):
    with open(path, "wb", buffering=0) as file:
        try:
            while True:
                file.write(b"x" * 4096)
        except OSError:
            pass


def main():
    global options
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=Path, required=True)
    parser.add_argument("--jumping-clock", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("tests", nargs="*", metavar="TEST")
    options = parser.parse_args()
    options.goodput = options.goodput.resolve()
    print(f"seed {options.seed}")
    unittest.main(argv=[sys.argv[0], "--durations", "5", *options.tests] if sys.version_info >= (3, 12) else [sys.argv[0], *options.tests],
                  verbosity=2)


if __name__ == "__main__":
    main()
