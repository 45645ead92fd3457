"""`goodput monitor` as tests start, watch and end it."""

import json
import re
import signal
import subprocess
import threading
from pathlib import Path

# What depends on when it was read, not on what was read.
TIMES = {"received_s", "finished_s", "opened_s", "closed_s", "lag_s", "version", "revision", "config_hash", "exported_s", "path"}
PATIENCE_S = 30
INTERRUPTED = 130
STEP_LINE = re.compile(r"(?P<job>.+) run (?P<run>\d+) step (?P<step>-?\d+): ")


class Monitor:
    """A running one: the steps that it told of, and what it said on stderr."""

    def __init__(self, goodput, arguments, environment=None):
        command = [goodput, "monitor", *map(str, arguments)]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        self.changed = threading.Condition()
        self.lines, self.notes = [], []
        self.readers = [threading.Thread(target=self.read, args=pair, daemon=True)
                        for pair in ((self.process.stdout, self.lines), (self.process.stderr, self.notes))]
        for reader in self.readers:
            reader.start()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.process.poll() is None:
            self.process.kill()
        self.finish()

    def read(self, stream, lines):
        for line in stream:
            with self.changed:
                lines.append(line.rstrip("\n"))
                self.changed.notify_all()

    def steps(self):
        """(job, run, step) in the order in which they were told."""
        found = [STEP_LINE.match(line) for line in self.lines]
        return [(line["job"], int(line["run"]), int(line["step"])) for line in found if line]

    def wait_for(self, is_so, patience_s=PATIENCE_S):
        """False: it did not become so in time, or the process ended before."""
        with self.changed:
            return self.changed.wait_for(lambda: is_so() or self.process.poll() is not None, timeout=patience_s) and is_so()

    def wait_for_steps(self, count, patience_s=PATIENCE_S):
        return self.wait_for(lambda: len(self.steps()) >= count, patience_s)

    def wait_for_note(self, text, patience_s=PATIENCE_S):
        return self.wait_for(lambda: any(text in note for note in self.notes), patience_s)

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        return self.finish()

    def end(self):
        """As a user or systemd does."""
        self.process.send_signal(signal.SIGTERM)
        code = self.finish()
        if code != INTERRUPTED:
            raise AssertionError(f"goodput monitor ends with {code}: {self.notes}")

    def finish(self):
        code = self.process.wait(timeout=PATIENCE_S)
        for reader in self.readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return code


def once(goodput, *arguments, environment=None):
    """All that is there, analysed; what it printed."""
    done = subprocess.run([goodput, "monitor", *map(str, arguments), "--once", "--no-pages"], env=environment, check=False,
                          capture_output=True, text=True)
    if done.returncode:
        raise AssertionError(f"goodput monitor --once ends with {done.returncode}: {done.stderr}")
    return done


def without_times(value):
    if isinstance(value, dict):
        return {key: without_times(item) for key, item in value.items() if key not in TIMES}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return value


def exported(goodput, database):
    """All that it knows, but for times of day of the monitor itself."""
    done = subprocess.run([goodput, "monitor", "export", database, "--json", "-"], check=True, capture_output=True, text=True)
    return without_times(json.loads(done.stdout))


def difference(one, other, where=""):
    """Where two values differ first, as text; empty: nowhere."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return f"{where}: keys {sorted(one.keys() ^ other.keys())}"
        pairs = [(f"{where}/{key}", one[key], other[key]) for key in one]
    elif isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return f"{where}: {len(one)} and {len(other)} entries"
        pairs = [(f"{where}/{index}", *both) for index, both in enumerate(zip(one, other))]
    else:
        return "" if one == other else f"{where}: {one!r} and {other!r}"
    return next((found for at, left, right in pairs if (found := difference(left, right, at))), "")


def synthesise(goodput, folder, name, stragglers, steps, seed, plan):
    """A raw log of a job that never ran."""
    (Path(folder) / f"{name}.json").write_text(json.dumps({"stragglers": stragglers, "trace": {"jitter": 0.01}}))
    log = Path(folder) / f"{name}.log"
    subprocess.run([goodput, "synth", plan, "--stragglers", f"{folder}/{name}.json", "--steps", str(steps), "--seed", str(seed),
                    "--out", log, "--quiet"], check=True, stderr=subprocess.DEVNULL)
    return log
