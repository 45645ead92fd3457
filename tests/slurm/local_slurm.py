"""A Slurm of two nodes on this machine, for tests.

    with LocalSlurm() as slurm:
        slurm.run(["srun", "-n", "4", "hostname"])

It is there when the block begins and gone, with all its jobs and files, when the block ends or the test is killed: see
keeper.py. No other Slurm or munge of the machine is touched: only SLURM_CONF in the environment of what is run leads to
this one. Any user can do it; all daemons and jobs are that user's.
"""

import contextlib
import os
import pwd
import re
import select
import shutil
import subprocess
import sys
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "slurmstepd", "sinfo", "srun", "sbatch", "scontrol", "squeue", "scancel")
PATH = os.environ.get("PATH", os.defpath) + ":/usr/sbin:/sbin"  # where the daemons are, also for those who are not root
START_S = 120   # the keeper gives up before
ANSWER_S = 120  # for a command; a second is usual


class Unavailable(Exception):
    """There can be no Slurm here; the text says what is needed."""


class Failed(Exception):
    """Slurm did not start, or a command failed."""


def require_slurm():
    missing = [program for program in PROGRAMS if not shutil.which(program, path=PATH)]
    if missing:
        raise Unavailable(f"no {', '.join(missing)}; Debian has them in slurmctld, slurmd, slurm-client and munge")
    try:
        pwd.getpwuid(os.getuid())
    except KeyError:
        raise Unavailable(f"user {os.getuid()} has no name, and Slurm wants one") from None


def plain_environment():
    """Ours without the Slurm job that we may be in ourselves, and with the folders of the daemons."""
    kept = {name: value for name, value in os.environ.items() if not re.match("SLURM|SBATCH|SRUN", name)}
    return {**kept, "PATH": PATH}


class LocalSlurm:
    """Running from `with` to its end: `folder` is where its files are, `environment` what its commands need."""

    def __init__(self):
        require_slurm()

    def __enter__(self):
        keeper = Path(__file__).with_name("keeper.py")
        self._keeper = subprocess.Popen([sys.executable, "-B", keeper], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env=plain_environment(), text=True)
        try:
            self._keeper.wait()  # which is for what goes on beside us, see there
            news = self._news()
            if not news.startswith("ready "):
                raise Failed(news.replace("\\n", "\n") or "the keeper of the daemons says nothing")
        except BaseException:
            self.__exit__()
            raise
        self.folder = Path(news.removeprefix("ready "))
        self.environment = {**plain_environment(), "SLURM_CONF": str(self.folder / "slurm.conf")}
        return self

    def _news(self):
        ready, _, _ = select.select([self._keeper.stdout], [], [], START_S)
        return self._keeper.stdout.readline().strip() if ready else ""

    def __exit__(self, *exception):
        self._keeper.stdin.close()
        self._keeper.stdout.read()  # to its end, which is the keeper's
        self._keeper.stdout.close()

    def attempt(self, command, **options):
        """The ended process; its `stdout` has both stdout and stderr."""
        options = {"env": self.environment, "timeout": ANSWER_S, **options}
        return subprocess.run([str(word) for word in command], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              stdin=subprocess.DEVNULL, check=False, **options)

    def run(self, command, **options):
        """What it prints; raises Failed unless it ends with 0."""
        done = self.attempt(command, **options)
        if done.returncode != 0:
            raise Failed(f"{' '.join(map(str, command))} ends with {done.returncode}:\n{done.stdout}")
        return done.stdout

    def logs(self):
        """The last lines of every daemon's log, for a test that fails."""
        def end(log):
            lines = (line for line in log.read_text(errors="replace").splitlines() if "mpi" not in line.lower())
            return "\n".join(list(lines)[-20:])
        return "\n".join(f"-- {log.stem}\n{end(log)}" for log in sorted(self.folder.glob("*.log")))

    def jobs(self):
        """State by job or task ("7_2") of what is not over; tasks that have not begun are one ("7_[0-3]")."""
        lines = self.run(["squeue", "--noheader", "--format=%i %T"]).splitlines()
        return dict(line.split() for line in lines)
