"""Writes the raw logs of a job as its recorders would: absolute times, a file a rank, flushed step by step, and whatever
loggers, rotation and dying processes make of them.

    log_writer.py TRACE.log [TRACE.log ...] --out FOLDER [--speed STEPS_PER_SECOND] [--rotate-lines N] ...

TRACE.log is a raw log that goodput wrote (`goodput synth PLAN --out TRACE.log`, `goodput trace convert`); of several the
steps come one after the other. Equal options and seed: equal bytes.
"""

import argparse
import gzip
import random
import re
import shutil
import time
from dataclasses import dataclass, field
from pathlib import Path

PAUSE_S = 0.005            # between steps
PEER_DELAY_S = 2e-6        # a tensor-parallel rank behind the one before it

RECORD = re.compile(r"metric_name: (?P<metric>[^,]+), elapsed: [^,]+, recent_elapsed_raw_parts: \[(?P<durations>[^\]]*)\], "
                    r"recent_since_start_raw_parts: \[(?P<starts>[^\]]*)\], tags: .*, step_range: range\((?P<step>-?\d+), .*"
                    r"TopoInfo\(rank=(?P<rank>\d+), dp_rank=(?P<dp>\d+), .*pp_rank=(?P<stage>\d+), .*"
                    r"ip=.*, dp_size=(?P<dp_size>\d+), .*pp_size=(?P<pp_size>\d+), ")

FOREIGN = ("2025-11-24 16:00:00,123 - INFO - loss: 2.31, grad norm: 0.71\n", "\n",
           "Traceback (most recent call last):\n", "metric_name is what a recorder writes\n",
           "[rank3]:[W ProcessGroupNCCL.cpp] barrier() devices \u00b5\x00\x1b[0m\n")


@dataclass(frozen=True)
class Record:
    """What a rank recorded of one metric in one step; starts count from the first op of the step."""
    rank: int
    dp_rank: int
    stage: int
    metric: str
    starts_s: tuple
    durations_s: tuple


@dataclass
class Job:
    dp_size: int
    pp_size: int
    steps: dict = field(default_factory=dict)  # number -> [Record], in the order in which they are flushed

    def length_s(self, step):
        return max(start + duration for record in self.steps[step]
                   for start, duration in zip(record.starts_s, record.durations_s))

    def ranks(self):
        return sorted({record.rank for records in self.steps.values() for record in records})


def read_job(path):
    job = Job(0, 0)
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            found = RECORD.search(line)
            if not found:
                raise ValueError(f"{path}: is no raw log that goodput wrote: {line[:80]}")
            floats = [tuple(float(value) for value in found[name].split(", ")) for name in ("starts", "durations")]
            record = Record(int(found["rank"]), int(found["dp"]), int(found["stage"]), found["metric"], *floats)
            job.steps.setdefault(int(found["step"]), []).append(record)
            job.dp_size, job.pp_size = int(found["dp_size"]), int(found["pp_size"])
    for step, records in job.steps.items():
        first = min(min(record.starts_s) for record in records)
        job.steps[step] = [Record(record.rank, record.dp_rank, record.stage, record.metric,
                                  tuple(start - first for start in record.starts_s), record.durations_s)
                           for record in records]
    return job


def one_after_the_other(jobs):
    """The steps of all of them, numbered from 1."""
    whole = Job(jobs[0].dp_size, jobs[0].pp_size)
    for job in jobs:
        for records in job.steps.values():
            whole.steps[len(whole.steps) + 1] = records
    return whole


@dataclass
class Manner:
    """How the recorders write, and what goes wrong."""
    seed: int = 0
    epoch_s: float = 1_764_000_000.0  # when the first step began
    steps_a_record: int = 1      # flushed together; without a step in the tags, so ops must divide evenly
    ranks_a_host: int = 8
    file_a: str = "rank"         # or "host"
    tensor_parallel: int = 1     # ranks of a worker that record
    runs: tuple = ()             # (first, last) step of each start of the job; (): one, of all steps
    missing: frozenset = frozenset()   # (rank, step) that were never flushed; ranks as they are in the trace
    clock_jumps: dict = field(default_factory=dict)  # step -> by how much all clocks jump before it, seconds
    foreign: float = 0           # lines of other loggers before a record, a probability
    cut: float = 0               # records of tensor-parallel peers that are cut short, a probability
    pieces: int = 1              # that a line is written in: more than 1: half lines are there for a moment
    rotate_lines: int = 0        # after so many lines of a file; 0: never
    rotation: str = "rename"     # or "copytruncate", "gzip"
    rotations_kept: int = 0      # older parts are deleted; 0: none is


@dataclass(frozen=True)
class Write:
    """Something that happens to a file: bytes appended, or, without any, its rotation."""
    path: str
    data: bytes
    step: int
    ends_step: bool = False  # the last of this step, of all files


class Recorders:
    """All that the recorders of a job write, in its order."""

    def __init__(self, job, manner):
        self.job, self.manner = job, manner
        self.random = random.Random(manner.seed)
        self.lines = {}  # of the current file by path
        ranks = job.ranks()
        gap = min((after - before for before, after in zip(ranks, ranks[1:])), default=1)
        self.width = max(gap, manner.tensor_parallel)  # of a trace of every eighth rank: 8
        self.factor = self.width // gap                # from ranks of the trace to those of the logs

    def writes(self):
        runs = self.manner.runs or ((min(self.job.steps), max(self.job.steps)),)
        begin_s = self.manner.epoch_s
        for first, last in runs:
            steps = [step for step in self.job.steps if first <= step <= last]
            for at in range(0, len(steps), self.manner.steps_a_record):
                group = steps[at:at + self.manner.steps_a_record]
                begins = []
                for step in group:
                    begin_s += self.manner.clock_jumps.get(step, 0)
                    begins.append(begin_s)
                    begin_s += self.job.length_s(step) + PAUSE_S
                yield from self.flush(group, begins)

    def flush(self, steps, begins):
        """What all ranks write of these steps, in a random order of files."""
        by_path = {}
        for index, first in enumerate(self.job.steps[steps[0]]):
            records = [(self.job.steps[step][index], begin) for step, begin in zip(steps, begins)]
            if any((first.rank, step) in self.manner.missing for step in steps):
                continue
            for peer in range(self.manner.tensor_parallel):
                path = self.path_of(first.rank, peer)
                by_path.setdefault(path, []).extend(self.texts(records, steps, peer))
        pieces = {path: [piece for text in texts for piece in self.pieces(path, text)] for path, texts in by_path.items()}
        order = [path for path, parts in pieces.items() for _ in parts]
        self.random.shuffle(order)
        positions = dict.fromkeys(pieces, 0)
        for count, path in enumerate(order, 1):
            data = pieces[path][positions[path]]
            positions[path] += 1
            yield Write(path, data, steps[-1], ends_step=count == len(order))

    def host_of(self, rank):
        return rank * self.factor // self.manner.ranks_a_host

    def path_of(self, rank, peer):
        host = f"node{self.host_of(rank):02}"
        return f"{host}.log" if self.manner.file_a == "host" else f"{host}/rank{rank * self.factor + peer}.log"

    def texts(self, records, steps, peer):
        if self.random.random() < self.manner.foreign:
            yield self.random.choice(FOREIGN)
        text = self.text(records, steps, peer)
        if peer and self.random.random() < self.manner.cut:
            yield text[:self.random.randrange(1, text.index("TopoInfo"))] + self.random.choice(("\n", ""))
        else:
            yield text

    def text(self, records, steps, peer):
        """The line of one metric of one rank. `records`: (record, when its step began), a step each."""
        first = records[0][0]
        durations = [duration for record, _ in records for duration in record.durations_s]
        starts = [begin + peer * PEER_DELAY_S + start for record, begin in records for start in record.starts_s]
        tags = ", ".join(f"{{'step': {steps[0]}}}" if len(steps) == 1 else "{}" for _ in durations)
        rank = first.rank * self.factor + peer
        return (f"{time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime(starts[-1] + durations[-1]))},000 - "
                f"metric_name: {first.metric}, elapsed: {sum(durations)!r}, recent_elapsed_raw_parts: {durations!r}, "
                f"recent_since_start_raw_parts: {starts!r}, tags: [{tags}], step_range: range({steps[0]}, {steps[-1] + 1}), "
                f"world_info: WorldInfo: TopoInfo(rank={rank}, dp_rank={first.dp_rank}, ddp_rank=0, tp_rank={peer}, "
                f"pp_rank={first.stage}, local_rank={rank % self.manner.ranks_a_host}, ip='10.0.0.{self.host_of(first.rank)}', "
                f"dp_size={self.job.dp_size}, ddp_size=1, tp_size={self.width}, pp_size={self.job.pp_size}, "
                f"world_size={self.job.dp_size * self.job.pp_size * self.width}) TrainingInfo(role_id=0, trial_id=0, run_id=0) {{}}\n")

    def pieces(self, path, text):
        data = text.encode()
        cuts = sorted(self.random.randrange(1, len(data)) for _ in range(self.manner.pieces - 1) if len(data) > 1)
        yield from (data[begin:end] for begin, end in zip([0, *cuts], [*cuts, len(data)]) if begin < end)
        if not data.endswith(b"\n"):  # the next record is glued to it
            return
        self.lines[path] = self.lines.get(path, 0) + 1
        if self.manner.rotate_lines and self.lines[path] >= self.manner.rotate_lines:
            self.lines[path] = 0
            yield b""


class LogFolder:
    """Files as they grow and rotate."""

    def __init__(self, folder, rotation="rename", kept=0):
        self.folder, self.rotation, self.kept = Path(folder), rotation, kept
        self.open = {}
        self.rotated = {}  # path -> parts that there are

    def do(self, write):
        if not write.data:
            self.rotate(write.path)
            return
        if write.path not in self.open:
            path = self.folder / write.path
            path.parent.mkdir(parents=True, exist_ok=True)
            self.open[write.path] = open(path, "ab", buffering=0)  # pylint: disable=consider-using-with
        self.open[write.path].write(write.data)

    def rotate(self, name):
        path = self.folder / name
        ending = ".gz" if self.rotation == "gzip" else ""
        count = self.rotated.get(name, 0)
        for number in range(count, 0, -1):  # logrotate moves the oldest first
            path.with_name(f"{path.name}.{number}{ending}").rename(path.with_name(f"{path.name}.{number + 1}{ending}"))
        self.rotated[name] = count + 1
        if self.kept and count >= self.kept:
            path.with_name(f"{path.name}.{count + 1}{ending}").unlink()
            self.rotated[name] = self.kept
        newest = path.with_name(f"{path.name}.1")
        if self.rotation == "copytruncate":
            shutil.copyfile(path, newest)
            self.open[name].truncate(0)
            return
        self.open.pop(name).close()
        path.rename(newest)
        path.touch()
        if self.rotation == "gzip":
            with open(newest, "rb") as plain, gzip.open(f"{newest}.gz", "wb") as packed:
                shutil.copyfileobj(plain, packed)
            newest.unlink()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        for file in self.open.values():
            file.close()
        self.open.clear()


def write_all(job, manner, folder, speed=0.0, before=lambda write: None):
    """All of it, `speed` steps a second (0: as fast as possible). `before` is called before every write."""
    steps, begin = 0, time.monotonic()
    with LogFolder(folder, manner.rotation, manner.rotations_kept) as logs:
        for write in Recorders(job, manner).writes():
            before(write)
            logs.do(write)
            if write.ends_step:
                steps += 1
                if speed:
                    time.sleep(max(0.0, begin + steps / speed - time.monotonic()))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE.log")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--speed", type=float, default=0, help="steps a second; 0: as fast as possible")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--epoch-s", type=float, default=Manner.epoch_s, help="Unix time of the first step")
    parser.add_argument("--steps-a-record", type=int, default=1)
    parser.add_argument("--ranks-a-host", type=int, default=8)
    parser.add_argument("--file-a", choices=("rank", "host"), default="rank")
    parser.add_argument("--tensor-parallel", type=int, default=1)
    parser.add_argument("--run", action="append", default=[], metavar="FIRST-LAST", help="repeated: the job restarts")
    parser.add_argument("--missing", action="append", default=[], metavar="RANK:STEP")
    parser.add_argument("--foreign", type=float, default=0)
    parser.add_argument("--cut", type=float, default=0)
    parser.add_argument("--pieces", type=int, default=1)
    parser.add_argument("--rotate-lines", type=int, default=0)
    parser.add_argument("--rotation", choices=("rename", "copytruncate", "gzip"), default="rename")
    options = vars(parser.parse_args())
    traces, out, speed = options.pop("traces"), options.pop("out"), options.pop("speed")
    options["runs"] = tuple(tuple(int(step) for step in run.split("-")) for run in options.pop("run"))
    options["missing"] = frozenset(tuple(int(number) for number in pair.split(":")) for pair in options["missing"])
    job = one_after_the_other([read_job(trace) for trace in traces])
    write_all(job, Manner(**options), out, speed)
    print(f"{len(job.steps)} steps of {len(job.ranks())} workers in {out}")


if __name__ == "__main__":
    main()
