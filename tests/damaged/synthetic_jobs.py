"""Synthetic jobs and how they are recorded: rows in memory that become CSV files or raw logs."""

import collections
import dataclasses
import functools
import json
import pathlib
import random
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
COLUMNS = ["dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "mb_id", "gmc"]


@dataclasses.dataclass(slots=True)
class Row:
    dp_rank: int
    stage: int
    rank: int
    step: int
    optype: str
    start: float
    duration: float | str
    seq_id: int
    mc: int
    mb_id: int
    gmc: int

    def copy(self):
        return Row(*(getattr(self, name) for name in self.__slots__))

    def end(self):
        return self.start + self.duration


def copies(rows):
    return [row.copy() for row in rows]


def steps_of(rows):
    return sorted({row.step for row in rows})


def lengths_of(rows):
    """Last end by step, of rows whose starts are relative to their step."""
    lengths = collections.defaultdict(float)
    for row in rows:
        lengths[row.step] = max(lengths[row.step], row.end())
    return lengths


# ---- Base jobs


def plan_of(draw):
    """A small job for goodput synth, with a few hundred to ten thousand rows."""
    while True:
        dp, pp = draw.randint(1, 4), draw.randint(1, 4)
        vpp = 2 if pp > 1 and draw.random() < 0.25 else 1
        batches, steps = draw.randint(4, 12), draw.randint(6, 12)
        batches -= batches % pp if vpp > 1 else 0
        if dp * pp > 1 and dp * pp * vpp * batches * steps < 1200:
            break
    layers = 32 // (pp * vpp)
    plan = {
        "model": "llama3-8b",
        "cluster": "dgx-h100",
        "parallel": {
            "dp": dp,
            "pp": pp,
            "vpp": vpp,
            "tp": draw.choice([1, 2]),
            "zero": draw.choice([0, 1]),
            "global_batch": dp * batches,
            "sequence_length": draw.choice([1024, 4096, 8192]),
            "overlap_grad_reduce": draw.random() < 0.3,
            "schedule": "interleaved" if vpp > 1 else "1f1b",
            "layers_per_stage": [layers + (place < 32 % (pp * vpp)) for place in range(pp * vpp)],
        },
        "trace": {"steps": steps, "jitter": draw.choice([0.003, 0.01, 0.03])},
        "stragglers": [],
    }
    worker = {"dp": draw.randrange(dp), "stage": draw.randrange(pp)}
    kind = draw.random()
    if kind < 0.4:
        plan["stragglers"] = [{"kind": "worker-fault", **worker, "factor": draw.choice([1.1, 1.4, 1.8])}]
    elif kind < 0.5 and pp > 1:
        plan["stragglers"] = [{"kind": "stage-partition", "stage": worker["stage"], "factor": 1.3}]
    elif kind < 0.6:
        plan["stragglers"] = [{"kind": "gc-pauses", "pause_s": 0.2, "every_steps": 4}]
    return plan, batches


def read_csv(path):
    rows = []
    lines = path.read_text().splitlines()
    for line in lines[1:]:
        f = line.split(",")
        ids = [int(field) for field in f[7:11]]
        rows.append(Row(int(f[0]), int(f[1]), int(f[2]), int(f[3]), f[4], float(f[5]), float(f[6]), *ids))
    return rows


@dataclasses.dataclass
class Base:
    dp: int
    pp: int
    vpp: int
    rows: list
    fewer_rows: list  # the same job with fewer micro-batches
    meta: str


def synthesize(goodput, plan, seed, path):
    path.with_suffix(".json").write_text(json.dumps(plan))
    command = [goodput, "--configs", ROOT / "configs", "synth", path.with_suffix(".json"), "--seed", str(seed)]
    outputs = ["--out", path, "--meta-out", path.with_suffix(".yaml")]
    subprocess.run([*command, *outputs], check=True, capture_output=True)


def write_base(goodput, folder, seed, number):
    draw = random.Random(f"{seed}/base/{number}")
    plan, batches = plan_of(draw)
    synthesize(goodput, plan, seed + number, folder / f"base{number}.csv")
    pp = plan["parallel"]["pp"]
    fewer = batches - pp if plan["parallel"]["vpp"] > 1 else batches - 1
    plan["parallel"]["global_batch"] = plan["parallel"]["dp"] * max(fewer, pp)
    synthesize(goodput, plan, seed + number, folder / f"fewer{number}.csv")


@functools.cache
def read_base(number, folder):
    plan = json.loads((folder / f"base{number}.json").read_text())["parallel"]
    rows = read_csv(folder / f"base{number}.csv")
    if number % 2:  # ends of messages are known to microseconds only
        draw = random.Random(number)
        for row in rows:
            if row.optype.endswith(("-recv", "-send")):
                row.duration = max(0.0, row.duration + draw.uniform(-3e-6, 3e-6))
    meta = (folder / f"base{number}.yaml").read_text()
    return Base(plan["dp"], plan["pp"], plan["vpp"], rows, read_csv(folder / f"fewer{number}.csv"), meta)


# ---- Recordings


class RecordedJob:
    """A job and how it is recorded. Damage changes `rows`, then `files`."""

    def __init__(self, base_number, base, draw, is_csv):
        self.base_number = base_number
        self.base = base
        self.rows = copies(base.rows)
        self.truths = []  # rows of clean traces; an answer that agrees with one of them is right
        self.kinds = []  # of damage
        self.absolute = draw.random() < 0.5
        self.origin = draw.choice([0.0, 7200.5, 1.7e9])  # of absolute starts
        self.raw_log = not is_csv and draw.random() < 0.4
        self.per_host = draw.random() < 0.5
        self.has_ips = self.raw_log and draw.random() < 0.6
        self.has_ids = not self.raw_log and draw.random() < 0.75
        self.has_meta = draw.random() < 0.5 or (base.vpp > 1 and not self.has_ids)
        self.extra_columns = False
        self.encoding = "utf-8"
        self.files = []  # [name, text]
        ranks = sorted({row.rank for row in self.rows})
        may_share = len(ranks) > 2 and (self.per_host or self.has_ips)
        ranks_a_host = draw.choice([1, 1, 2]) if may_share else 1
        self.hosts = {rank: place // ranks_a_host for place, rank in enumerate(ranks)}

    def lay_out(self, gap_s):
        """Gives all steps one origin."""
        begin = self.origin
        lengths = lengths_of(self.rows)
        begins = {}
        for step in steps_of(self.rows):
            begins[step] = begin
            begin += lengths[step] + gap_s
        for row in self.rows:
            row.start = round(row.start + begins[row.step], 9)

    def write_files(self):
        write = self.raw_log_text if self.raw_log else functools.partial(self.csv_text, has_ids=self.has_ids)
        suffix = "log" if self.raw_log else "csv"
        if not self.per_host:
            self.files = [[f"trace.{suffix}", write(self.rows)]]
            return
        by_host = collections.defaultdict(list)
        for row in self.rows:
            by_host[self.hosts[row.rank]].append(row)
        self.files = [[f"node{host}.{suffix}", write(rows)] for host, rows in sorted(by_host.items())]

    def save(self, folder):
        """Writes the files; returns what whatif is told, with names in the folder."""
        for name, text in self.files:
            (folder / name).write_bytes(text.encode(self.encoding))
        names = [name for name, _ in self.files]
        if not self.has_meta:
            return names
        (folder / "meta.yaml").write_text(self.base.meta)
        return [*names, "--meta", "meta.yaml"]

    def csv_text(self, rows, has_ids):
        names = COLUMNS if has_ids else COLUMNS[:7]
        lines = [",".join(names + ["host", "tp"] * self.extra_columns)]
        for row in rows:
            fields = [str(row.dp_rank), str(row.stage), str(row.rank), str(row.step), row.optype, str(row.start)]
            fields.append(str(row.duration))
            if has_ids:
                fields += [str(row.seq_id), str(row.mc), str(row.mb_id), str(row.gmc)]
            if self.extra_columns:
                fields += ["somewhere", "0"]
            lines.append(",".join(fields))
        return "\n".join(lines) + "\n"

    def raw_log_text(self, rows):
        """A line an op type, worker and step, as NDTimeline writes them."""
        groups = collections.defaultdict(list)
        for row in rows:
            groups[row.rank, row.dp_rank, row.stage, row.step, row.optype].append(row)
        lines = []
        for (rank, dp, stage, step, optype), ops in groups.items():
            ip = f"10.0.0.{1 + self.hosts[rank]}" if self.has_ips else "127.0.0.1"
            durations = ", ".join(str(op.duration) for op in ops)
            starts = ", ".join(str(op.start) for op in ops)
            tags = ", ".join(str({"step": step}) for _ in ops)
            lines.append(
                f"2024-05-01 12:00:00,000 - metric_name: {optype}, elapsed: 0.1, "
                f"recent_elapsed_raw_parts: [{durations}], recent_since_start_raw_parts: [{starts}], tags: [{tags}], "
                f"step_range: range({step}, {step + 1}), world_info: WorldInfo: TopoInfo(rank={rank}, dp_rank={dp}, "
                f"ddp_rank=0, tp_rank=0, pp_rank={stage}, local_rank=0, ip='{ip}', dp_size={self.base.dp}, ddp_size=1, "
                f"tp_size=1, pp_size={self.base.pp}, world_size={self.base.dp * self.base.pp}) "
                "TrainingInfo(role_id=0, trial_id=0, run_id=0) {}"
            )
        return "\n".join(lines) + "\n"
