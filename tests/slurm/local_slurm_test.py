"""What the Slurm of tests leaves behind: nothing, also when the test is killed; and what it says when it cannot start."""

import contextlib
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

import local_slurm

PATIENCE_S = 60
VICTIM = """
import sys
from local_slurm import LocalSlurm
with LocalSlurm() as slurm:
    slurm.run(["sbatch", "--output=/dev/null", "--wrap", "sleep 1000"])
    print(slurm.folder, flush=True)
    slurm.attempt(["srun", "-n", 2, "sleep", 1000], timeout=None)
"""


def processes(folder):
    """Command lines of those that have its slurm.conf in their environment."""
    mark, found = os.fsencode(f"SLURM_CONF={folder}/slurm.conf"), []
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if mark in (process / "environ").read_bytes().split(b"\0"):
                found.append((process / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
    return found


class LocalSlurmTest(unittest.TestCase):
    def until(self, reached):
        end = time.monotonic() + PATIENCE_S
        while not reached():
            self.assertLess(time.monotonic(), end, "not in time")
            time.sleep(0.05)

    def test_nothing_is_left_of_a_test_that_is_killed(self):
        with subprocess.Popen([sys.executable, "-B", "-c", VICTIM], cwd=Path(__file__).parent, text=True,
                              stdout=subprocess.PIPE) as victim:
            folder = Path(victim.stdout.readline().strip() or self.fail("no Slurm"))
            # A batch job and the two tasks of a step.
            self.until(lambda: sum(command.endswith("sleep 1000") for command in processes(folder)) >= 3)
            victim.send_signal(signal.SIGKILL)
        self.until(lambda: not processes(folder) and not folder.exists())

    def test_nothing_is_left_of_a_test_that_fails(self):
        with self.assertRaises(ZeroDivisionError), local_slurm.LocalSlurm() as slurm:
            slurm.run(["sbatch", "--output=/dev/null", "--wrap", "sleep 1000"])
            raise ZeroDivisionError
        self.assertFalse(slurm.folder.exists())
        self.assertEqual(processes(slurm.folder), [])

    def test_a_daemon_that_does_not_start_is_named(self):
        with tempfile.TemporaryDirectory() as folder:
            fake = Path(folder) / "slurmctld"
            fake.write_text("#!/bin/sh\necho no room; exit 3\n")
            fake.chmod(0o755)
            path, local_slurm.PATH = local_slurm.PATH, f"{folder}:{local_slurm.PATH}"
            self.addCleanup(setattr, local_slurm, "PATH", path)
            with self.assertRaisesRegex(local_slurm.Failed, "slurmctld ends with 3:\nno room"), local_slurm.LocalSlurm():
                pass

    def test_the_job_that_the_test_runs_in_is_another(self):
        os.environ["SLURM_PROCID"] = "7"
        self.addCleanup(os.environ.pop, "SLURM_PROCID")
        with local_slurm.LocalSlurm() as slurm:
            self.assertEqual(slurm.run(["sh", "-c", "echo ${SLURM_PROCID-none}"]), "none\n")


if __name__ == "__main__":
    try:
        local_slurm.require_slurm()
    except local_slurm.Unavailable as reason:
        if "GOODPUT_REQUIRE_SLURM" in os.environ:
            sys.exit(f"failed: {reason}")
        print(f"skipped: {reason}")
        sys.exit()
    unittest.main()
