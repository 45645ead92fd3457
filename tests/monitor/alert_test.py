"""Known stragglers, written line by line: who is told of them, how soon, and whether of the right ones; and that nobody is
woken up for nothing.

    alert_test.py --goodput PROGRAM [--speed STEPS_PER_SECOND] [--clean-steps 10000] [--seed N] [TEST...]

Prints a line a kind: how many steps after the onset the alert opened, and what it named.
"""

import argparse
import json
import shutil
import sys
import tempfile
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

KINDS = {
    "worker-fault": [{"kind": "worker-fault", "dp": 1, "stage": 2, "factor": 1.5}],
    "slow-host": [{"kind": "worker-fault", "dp": dp, "stage": 1, "factor": 1.5} for dp in range(WORKERS_A_HOST)],
    "stage-partition": [{"kind": "stage-partition", "stage": 3, "factor": 1.4}],
    "sequence-length": [{"kind": "sequence-length"}],
    "gc-pauses": [{"kind": "gc-pauses", "pause_s": 1, "every_steps": 4}],
    "launch-delay": [{"kind": "launch-delay", "mean_s": 2, "ops": "first"}],
    "communication-flap": [{"kind": "communication-flap", "dp": 2, "stage": 1, "share": 0.3, "factor": 500}],
}

options = None
scratch = None
clean = None


def setUpModule():
    global scratch, clean
    scratch = Path(tempfile.mkdtemp(prefix="goodput-alerts-"))
    unittest.addModuleCleanup(shutil.rmtree, scratch)
    for name, plan in (("plan", PLAN_JSON), ("small-plan", SMALL_PLAN_JSON)):
        (scratch / f"{name}.json").write_text(json.dumps(plan))
    clean = log_writer.read_job(made("clean", [], CLEAN_STEPS))


def made(name, stragglers, steps, plan="plan"):
    return synthesise(options.goodput, scratch, name, stragglers, steps, options.seed, scratch / f"{plan}.json")


def alerts_of(database):
    return exported(options.goodput, database)["jobs"][0]["alerts"]


class Injected(unittest.TestCase):
    def check(self, cause):
        log = made(cause, KINDS[cause], FAULT_STEPS)
        job = log_writer.one_after_the_other([clean, log_writer.read_job(log)])
        how = log_writer.Manner(seed=options.seed, ranks_a_host=8 * WORKERS_A_HOST)
        folder, database = scratch / f"{cause}-logs" / "job", scratch / f"{cause}.sqlite"
        folder.mkdir(parents=True)
        with Monitor(options.goodput, (folder, "--db", database, "--no-pages", "--grace", "600")) as running:
            log_writer.write_all(job, how, folder, options.speed)
            self.assertTrue(running.wait_for_steps(len(job.steps) - 2), running.notes)
            running.end()
        once(options.goodput, folder, "--db", database)
        truth = json.loads(Path(f"{log}.truth.json").read_text())["injected"]
        self.check_alerts(cause, alerts_of(database), truth)

    def check_alerts(self, cause, alerts, truth):
        early = [alert for alert in alerts if alert["opened_at"]["step"] <= CLEAN_STEPS]
        self.assertEqual(early, [], "before the onset")
        right = [alert for alert in alerts if alert["cause"] == cause]
        self.assertTrue(right, f"only {[(alert['rule'], alert['cause'], alert['summary']) for alert in alerts]}")
        first = min(right, key=lambda alert: alert["opened_at"]["step"])
        after = first["opened_at"]["step"] - CLEAN_STEPS
        print(f"{cause}: after {after} steps: {first['summary']}; {first['next_check']}", flush=True)
        self.assertLessEqual(after, RULE_STEPS + 1)
        self.assertEqual({alert["cause"] for alert in alerts}, {cause}, "and nothing else")
        if cause == "worker-fault":
            self.assertEqual((first["worker"]["dp_rank"], first["worker"]["stage"]), (truth[0]["dp"], truth[0]["stage"]))
            self.assertEqual(first["worker"]["host"], f"10.0.0.{(truth[0]['stage'] * 8 + truth[0]['dp']) // WORKERS_A_HOST}")
        if cause == "slow-host":
            self.assertEqual(first["worker"]["host"], f"10.0.0.{SLOW_HOST}")
        if cause == "communication-flap":
            self.assertEqual((first["worker"]["dp_rank"], first["worker"]["stage"]), (truth[0]["dp"], truth[0]["stage"]))

    def test_worker_fault(self):
        self.check("worker-fault")

    def test_slow_host(self):
        self.check("slow-host")

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


class Clean(unittest.TestCase):
    def test_steps_open_no_alert(self):
        """Noise alone, as the converter writes it: starts count from the first step's."""
        folder, database = scratch / "clean-logs" / "job", scratch / "clean.sqlite"
        folder.mkdir(parents=True)
        made("noise", [], options.clean_steps, "small-plan").rename(folder / "rank0.log")
        done = once(options.goodput, folder, "--db", database)
        steps = [line for line in done.stdout.splitlines() if line.startswith("job run 0 ")]
        self.assertEqual(len(steps), options.clean_steps)
        self.assertEqual([(alert["rule"], alert["summary"]) for alert in alerts_of(database)], [])
        print(f"{len(steps)} clean steps: no alert", flush=True)


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
