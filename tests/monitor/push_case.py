"""A monitor that takes pushes, for tests of it: run(__doc__) runs those of the calling script."""

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import log_writer
from monitor_process import Monitor, synthesise

PLAN_JSON = """{"model": "gpt-l", "cluster": "rtx3090-10",
 "parallel": {"dp": 2, "pp": 2, "micro_batch": 1, "global_batch": 8, "sequence_length": 1024, "schedule": "1f1b"}}"""
STEPS = 12
TOKEN = "a-secret-of-a-test"

options = None


class PushCase(unittest.TestCase):
    """Each test has a folder of its own: `logs` of a job of STEPS steps, and a monitor's `database` and `token`."""

    @classmethod
    def setUpClass(cls):
        cls.scratch = Path(tempfile.mkdtemp(prefix="goodput-push-"))
        cls.addClassCleanup(shutil.rmtree, cls.scratch)
        (cls.scratch / "plan.json").write_text(PLAN_JSON)
        cls.job = log_writer.read_job(synthesise(options.goodput, cls.scratch, "pushed", [], STEPS, 1, cls.scratch / "plan.json"))

    def setUp(self):
        self.chance = random.Random(options.seed)
        self.folder = Path(tempfile.mkdtemp(dir=self.scratch))
        self.database = self.folder / "monitor.sqlite"
        self.token = self.folder / "token"
        self.token.write_text(TOKEN)
        self.token.chmod(0o600)
        self.logs = self.folder / "logs" / "job"
        log_writer.write_all(self.job, log_writer.Manner(epoch_s=1.7e9, seed=options.seed), self.logs)

    def monitor(self, *arguments, failing_sync=""):
        """A running one; `self.address` is where it listens. `failing_sync`: what failing_sync.cpp is told."""
        environment = {**os.environ, "LD_PRELOAD": options.failing_sync, "GOODPUT_TEST_SYNC": failing_sync} if failing_sync else None
        running = Monitor(options.goodput, (*arguments, "--push", "--token-file", self.token, "--db", self.database, "--port", 0),
                          environment)
        self.addCleanup(running.__exit__)
        self.assertTrue(running.wait_for_note("pages at "), running.notes)
        note = next(note for note in running.notes if "pages at " in note)
        host, port = re.search(r"http://([\d.]+):(\d+)/", note).groups()
        self.address = (host, int(port))
        return running


def run(usage):
    global options
    parser = argparse.ArgumentParser(description=usage, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", required=True, type=os.path.abspath)
    parser.add_argument("--failing-sync", required=True, type=os.path.abspath, help="the library of failing_sync.cpp")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32))
    parser.add_argument("tests", nargs="*")
    options = parser.parse_args()
    if not os.path.exists(options.failing_sync):
        parser.error(f"{options.failing_sync} is not there: build the target failing_sync")
    print(f"seed {options.seed}", flush=True)
    result = unittest.main(argv=[sys.argv[0], *options.tests], exit=False, verbosity=2).result
    return 0 if result.wasSuccessful() else 1
