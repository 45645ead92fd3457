"""Keeps munged, slurmctld and two slurmd in a folder of their own until its standard input ends; local_slurm.py begins it.

It tells stdout `ready FOLDER`, or in one line why not. Configuration, key, spool, logs and pid files are in the folder,
ports are free ones. The keeper is a process of its own session and no child of the test, so it is there still when the
test is killed with all its children, and then it stops the daemons, ends what they ran, and removes the folder.
"""

import contextlib
import ctypes
import os
import pwd
import random
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NODES = ("n1", "n2")
CPUS = 2
READY_S = 30     # on a busy machine; two seconds are usual
ANSWER_S = 5     # for slurmctld to say something
STOP_S = 1       # before what is left is killed: a slurmd that looks for its slurmctld would take much longer
ATTEMPTS = 3     # another program may take a port before it is used
LONGEST_BASE = 60  # the path of munge's socket has to fit into 108 bytes

# Nodes have the CPUs that are written here, whatever the machine has. Requeued jobs wait until their credential has
# expired, and what is cancelled until it is killed: seconds, not minutes.
# With IPv6 allowed, Slurm also runs where there is no network but the loopback.
CONFIGURATION = """\
ClusterName=goodput
SlurmctldHost=localhost(127.0.0.1)
SlurmctldPort={slurmctld}
CommunicationParameters=EnableIPv6
SlurmUser={user}
SlurmdUser={user}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket,cred_expire=5
StateSaveLocation={folder}/state
SlurmctldPidFile={folder}/slurmctld.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdSpoolDir={folder}/%n.spool
SlurmdPidFile={folder}/%n.pid
SlurmdLogFile={folder}/%n.log
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0,sched_interval=1,bf_interval=1
MpiDefault=none
MailProg=/bin/true
ReturnToService=2
KillWait=1
MessageTimeout=60
{nodes}
PartitionName=test Nodes=ALL Default=YES MaxTime=10
"""


class Failed(Exception):
    """The daemons did not start."""


class Over(Exception):
    """The test is."""


def free_ports(count):
    """Below those that the kernel gives to connections, so that none of these comes in between."""
    ports, sockets = [], []
    while len(ports) < count:
        sockets.append(socket.socket())
        port = random.SystemRandom().randrange(10000, 32000)
        with contextlib.suppress(OSError):
            sockets[-1].bind(("", port))
            ports.append(port)
    for one in sockets:
        one.close()
    return ports


def in_time(reached):
    """Whether it is, before READY_S are over; ends early with the test."""
    end = time.monotonic() + READY_S
    while not reached():
        if time.monotonic() > end:
            return False
        if select.select([sys.stdin], [], [], 0.05)[0]:
            raise Over
    return True


class Daemons:
    def __init__(self, folder):
        self.folder = folder
        self.started = {}
        os.environ["SLURM_CONF"] = str(folder / "slurm.conf")

    def start(self):
        self.write_files()
        options = {"key-file": "munge.key", "socket": "munge.socket", "pid-file": "munged.pid", "log-file": "munged.log",
                   "seed-file": "munge.seed"}
        self.start_one("munged", "munged", ["--foreground", "--force", "--num-threads=2",
                                            *(f"--{option}={self.folder / name}" for option, name in options.items())])
        self.await_all((self.folder / "munge.socket").exists, "the socket of munged")
        self.start_one("slurmctld", "slurmctld", ["-D", "-c"])
        for node in NODES:
            self.start_one(node, "slurmd", ["-D", "-N", node])
        self.await_all(self.idle, "idle nodes")

    def write_files(self):
        slurmctld, *ports = free_ports(1 + len(NODES))
        nodes = (f"NodeName={node} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={CPUS}"
                 for node, port in zip(NODES, ports))
        user = pwd.getpwuid(os.getuid()).pw_name
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(folder=self.folder, slurmctld=slurmctld, user=user,
                                                                     nodes="\n".join(nodes)))
        (self.folder / "cgroup.conf").write_text("CgroupPlugin=cgroup/v1\n")  # which does not look for any
        for folder in ("state", *(f"{node}.spool" for node in NODES)):
            (self.folder / folder).mkdir(exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(os.urandom(128))
        key.chmod(0o600)

    def start_one(self, name, program, options):
        with open(self.folder / f"{name}.out", "w") as out:
            self.started[name] = subprocess.Popen([shutil.which(program), *options], stdin=subprocess.DEVNULL, stdout=out,
                                                  stderr=subprocess.STDOUT, cwd=self.folder)

    def await_all(self, reached, what):
        def ended():
            return [name for name, daemon in self.started.items() if daemon.poll() is not None]
        if not in_time(lambda: ended() or reached()):
            raise Failed(f"no {what} after {READY_S} s:\n" + "\n".join(map(self.last_words, self.started)))
        for name in ended():
            raise Failed(f"{name} ends with {self.started[name].returncode}:\n{self.last_words(name)}")

    def idle(self):
        try:
            done = subprocess.run(["sinfo", "--noheader", "--Node", "--format=%T"], stdin=subprocess.DEVNULL, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False, timeout=ANSWER_S)
        except subprocess.TimeoutExpired:
            return False
        return done.stdout.split() == ["idle"] * len(NODES)

    def last_words(self, name):
        return "\n".join((self.folder / f"{name}.out").read_text(errors="replace").splitlines()[-20:])

    def stop(self):
        """The nodes first, then whom they talk to; then what is left, jobs and whatever waits for them."""
        end = time.monotonic() + STOP_S
        for name in (*NODES, "slurmctld", "munged"):
            if daemon := self.started.pop(name, None):
                daemon.terminate()
                with contextlib.suppress(subprocess.TimeoutExpired):
                    daemon.wait(max(0, end - time.monotonic()))
        while self.kill_ours():
            time.sleep(0.02)

    def kill_ours(self):
        """Whether there were any: whose slurm.conf is ours, and orphans of those, which become the keeper's children."""
        mark = os.fsencode(f"SLURM_CONF={os.environ['SLURM_CONF']}")
        found = False
        for process in Path("/proc").glob("[0-9]*"):
            number = int(process.name)
            with contextlib.suppress(OSError):  # it has ended, or is someone else's
                state, parent = (process / "stat").read_text().rpartition(")")[2].split()[:2]
                is_ours = int(parent) == os.getpid() or mark in (process / "environ").read_bytes().split(b"\0")
                if is_ours and state != "Z" and number != os.getpid():
                    os.kill(number, signal.SIGKILL)
                    found = True
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                found = True
        return found


def start(daemons):
    for attempt in range(1, ATTEMPTS + 1):
        try:
            daemons.start()
            return
        except Failed:
            if attempt == ATTEMPTS:
                raise
            daemons.stop()


def keep():
    base = tempfile.gettempdir()
    folder = Path(tempfile.mkdtemp(prefix="goodput-slurm-", dir=base if len(base) < LONGEST_BASE else "/tmp"))
    daemons = Daemons(folder)
    try:
        start(daemons)
        print("ready", folder, flush=True)
        sys.stdin.read()
    except (Over, BrokenPipeError):
        pass
    except (Failed, OSError) as failure:
        print(str(failure).replace("\n", "\\n"), flush=True)
    finally:
        daemons.stop()
        shutil.rmtree(folder)


def become_subreaper():
    """Orphans among our descendants become our children."""
    set_child_subreaper = 36
    ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)


def main():
    if os.fork() != 0:
        return
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the end of the test is what counts; SIG_IGN would be inherited
    become_subreaper()
    keep()


if __name__ == "__main__":
    main()
