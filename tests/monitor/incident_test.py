"""Known faults, written line by line: each opens one incident, soon, about the right subject; and nothing else opens any.

    incident_test.py --goodput PROGRAM [--speed STEPS_PER_SECOND] [--clean-steps 10000] [--seed N] [TEST...]

Prints a line per incident: how many steps after the onset it opened, and what it says.
"""

import argparse
import json
import shutil
import sqlite3
import sys
import tempfile
import threading
import unittest
from pathlib import Path

import log_writer
from monitor_process import Monitor, exported, once, synthesise

PLAN_JSON = {"model": "llama3-70b", "cluster": "dgx-h100",
             "parallel": {"dp": 8, "pp": 4, "tp": 8, "micro_batch": 1, "global_batch": 128, "sequence_length": 8192,
                          "schedule": "1f1b", "layers_per_stage": [20, 20, 21, 19]}}
SMALL_PLAN_JSON = {**PLAN_JSON, "parallel": {**PLAN_JSON["parallel"], "dp": 4, "pp": 2, "global_batch": 16,
                                             "layers_per_stage": [41, 39]}}
CLEAN_STEPS = 20  # before the onset
FAULT_STEPS = 16
RULE_STEPS = 5    # n: of these a rule wants the cause to be there, as rules come; of 6 for causes, which may miss one
WORKERS_A_HOST = 4  # of 8 GPUs each: half the replicas of a stage
SLOW_HOST = 2       # stage 1 of replicas 0 to 3

# What is injected, and the subjects of the incidents that it must open, and no other.
FAULTS = {
    "worker-fault": ([{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5}], {"worker:1:2"}),
    "slow-host": ([{"kind": "worker-fault", "dp": dp, "stage": 1, "factor": 1.5} for dp in range(WORKERS_A_HOST)],
                  {f"host:10.0.0.{SLOW_HOST}"}),
    "three-workers": ([{"kind": "worker-fault", "dp": dp, "stage": 1, "factor": 1.5} for dp in range(WORKERS_A_HOST - 1)],
                      {f"host:10.0.0.{SLOW_HOST}"}),
    "stage-partition": ([{"kind": "stage-partition", "stage": 3, "factor": 1.4}], {"stage:3"}),
    # By default the cost follows the plan's FLOPs, and at 8,192 tokens attention is too small a part of it to be a fault.
    "sequence-length": ([{"kind": "sequence-length", "attention_share": 0.5}], {"job"}),
    "gc-pauses": ([{"kind": "gc-pauses", "pause_s": 1, "every_steps": 4}], {"job"}),
    "launch-delay": ([{"kind": "launch-delay", "mean_s": 2, "ops": "first"}], {"job"}),
    "communication-flap": ([{"kind": "communication-flap", "dp": 2, "stage": 1, "share": 0.3, "factor": 500}],
                           {"worker:2:1"}),
    "two-workers": ([{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5},
                     {"kind": "worker-fault", "dp": 6, "stage": 0, "factor": 1.6}], {"worker:1:2", "worker:6:0"}),
    "worker-and-stage": ([{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5},
                          {"kind": "stage-partition", "stage": 3, "factor": 1.4}], {"worker:1:2", "stage:3"}),
    "worker-and-messages": ([{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5},
                             {"kind": "communication-flap", "dp": 6, "stage": 1, "share": 0.3, "factor": 300}],
                            {"worker:1:2", "worker:6:1"}),
    "worker-and-launches": ([{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5},
                             {"kind": "launch-delay", "mean_s": 2, "ops": "first"}], {"worker:1:2", "job"}),
}

options = None
scratch = None
clean = None


def setUpModule():
    global scratch, clean
    scratch = Path(tempfile.mkdtemp(prefix="goodput-incidents-"))
    unittest.addModuleCleanup(shutil.rmtree, scratch)
    for name, plan in (("plan", PLAN_JSON), ("small-plan", SMALL_PLAN_JSON)):
        (scratch / f"{name}.json").write_text(json.dumps(plan))
    clean = log_writer.read_job(made("clean", [], CLEAN_STEPS))


def made(name, stragglers, steps, plan="plan"):
    return synthesise(options.goodput, scratch, name, stragglers, steps, options.seed, scratch / f"{plan}.json")


def incidents_of(database):
    return exported(options.goodput, database)["jobs"][0]["incidents"]


class Injected(unittest.TestCase):
    def check(self, name):
        stragglers, subjects = FAULTS[name]
        log = made(name, stragglers, FAULT_STEPS)
        job = log_writer.one_after_the_other([clean, log_writer.read_job(log)])
        how = log_writer.Manner(seed=options.seed, ranks_a_host=8 * WORKERS_A_HOST)
        folder, database = scratch / f"{name}-logs" / "job", scratch / f"{name}.sqlite"
        folder.mkdir(parents=True)
        with Monitor(options.goodput, (folder, "--db", database, "--no-pages", "--grace", "600")) as running:
            log_writer.write_all(job, how, folder, options.speed)
            self.assertTrue(running.wait_for_steps(len(job.steps) - 2), running.notes)
            running.end()
        once(options.goodput, folder, "--db", database)
        incidents = incidents_of(database)
        told = [(incident["subject"]["key"], incident["opened_step"], incident["sentence"]) for incident in incidents]
        self.assertEqual({subject for subject, _, _ in told}, subjects, told)
        self.assertEqual(len(told), len(subjects), told)
        self.assertEqual(len({incident["key"] for incident in incidents}), len(subjects), told)
        for subject, opened, sentence in told:
            print(f"{name}: {subject} after {opened - CLEAN_STEPS} steps: {sentence}", flush=True)
            self.assertGreater(opened, CLEAN_STEPS, "before the onset")
            self.assertLessEqual(opened - CLEAN_STEPS, RULE_STEPS + 1)
        self.assertEqual({incident["state"] for incident in incidents}, {"open"})
        opens = [note for note in running.notes if " opens at step " in note]
        self.assertLessEqual(len(opens), len(subjects), opens)
        return incidents

    def test_worker_fault(self):
        incident, = self.check("worker-fault")
        self.assertEqual(incident["verdict"]["workers"], [{"dp": 1, "stage": 2, "rank": 136, "host": "10.0.0.4"}])
        self.assertEqual(incident["verdict"]["since_step"], CLEAN_STEPS + 1)
        self.assertAlmostEqual(incident["verdict"]["pace"], 1.5, delta=0.05)

    def test_slow_host(self):
        self.check("slow-host")

    def test_host_with_three_slow_workers(self):
        incident, = self.check("three-workers")
        self.assertEqual(len(incident["verdict"]["workers"]), 3)

    def test_stage_partition(self):
        self.check("stage-partition")

    def test_sequence_length(self):
        self.check("sequence-length")

    def test_gc_pauses(self):
        self.check("gc-pauses")

    def test_launch_delay(self):
        self.check("launch-delay")

    def test_communication_flap(self):
        self.check("communication-flap")

    def test_two_slow_workers(self):
        one, other = self.check("two-workers")
        # What each costs alone is less than what both cost.
        for incident in (one, other):
            self.assertGreater(incident["cost_s_per_step"], 0)

    def test_slow_worker_that_hides_an_uneven_stage(self):
        self.check("worker-and-stage")

    def test_slow_worker_that_hides_slow_messages(self):
        self.check("worker-and-messages")

    def test_slow_worker_and_late_launches(self):
        self.check("worker-and-launches")


class Silence(unittest.TestCase):
    def test_is_noticed_beside_a_busy_job(self):
        """A rule of 4 s, beside a job of 8 steps per second: within 6 s."""
        rules = scratch / "silence-rules.json"
        rules.write_text(json.dumps({"rules": {"silence": {"kind": "silence", "seconds": 4}}, "sinks": {"screen": {"kind": "stderr"}}}))
        logs, database = scratch / "silence-logs", scratch / "silence.sqlite"
        silent, busy = logs / "silent", logs / "busy"
        for folder in (silent, busy):
            folder.mkdir(parents=True)
        steps = log_writer.read_job(made("busy", [], 120, "small-plan"))
        log = made("silent", [], 3, "small-plan")
        (silent / "rank0.log").write_bytes(log.read_bytes() + b"half a line, as of a job that was killed")
        with Monitor(options.goodput, (silent, busy, "--db", database, "--no-pages", "--rules", rules)) as running:
            writer = threading.Thread(target=log_writer.write_all, args=(steps, log_writer.Manner(), busy, 8.0))
            writer.start()
            noticed = running.wait_for_note("silent: No step of this job has finished for", 20)
            done = [step for step in running.steps() if step[0] == "busy"]
            running.kill()
            writer.join()
        self.assertTrue(noticed, running.notes)
        with sqlite3.connect(database) as store:
            waited, = store.execute("SELECT opened_s - (SELECT max(finished_s) FROM steps WHERE job = incidents.job) "
                                    "FROM incidents").fetchone()
        print(f"silence of 4 s noticed after {waited:.1f} s, beside {len(done)} steps of the busy job", flush=True)
        self.assertGreater(len(done), 16, "the other job is busy")
        self.assertTrue(4 <= waited <= 6, waited)


class Clean(unittest.TestCase):
    def test_steps_open_no_incident(self):
        """Noise alone, as the converter writes it: starts count from the first step's."""
        folder, database = scratch / "clean-logs" / "job", scratch / "clean.sqlite"
        folder.mkdir(parents=True)
        made("noise", [], options.clean_steps, "small-plan").rename(folder / "rank0.log")
        done = once(options.goodput, folder, "--db", database)
        steps = [line for line in done.stdout.splitlines() if line.startswith("job run 0 ")]
        self.assertEqual(len(steps), options.clean_steps)
        self.assertEqual([incident["sentence"] for incident in incidents_of(database)], [])
        print(f"{len(steps)} clean steps: no incident", flush=True)


def main():
    global options
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=Path, required=True)
    parser.add_argument("--speed", type=float, default=0, help="steps a second; 0: as fast as possible")
    parser.add_argument("--clean-steps", type=int, default=10000)
    parser.add_argument("--seed", type=int, default=3)
    parser.add_argument("tests", nargs="*", metavar="TEST")
    options = parser.parse_args()
    options.goodput = options.goodput.resolve()
    print(f"seed {options.seed}")
    unittest.main(argv=[sys.argv[0], *options.tests], verbosity=2)


if __name__ == "__main__":
    main()
