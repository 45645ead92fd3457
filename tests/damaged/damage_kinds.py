"""Kinds of damage: functions that change a recorded job. They return False if it cannot be damaged in this way."""

import dataclasses

from synthetic_jobs import copies, steps_of

CLOCK_TOLERANCE = 3e-3  # aligned clocks are as exact as the ends of messages
PASSES = ("forward-compute", "backward-compute")
SYNCHRONIZED = ("forward-recv", "backward-recv", "grads-reduce-scatter", "optimizer-clip-main-grad")

# What a kind changes: the job itself (the clean trace has it, too; starts count from each step's begin), rows, files.
REAL, ROWS, FILES = 0, 1, 2
KINDS = {}  # by name, in the order in which they are applied


@dataclasses.dataclass
class Kind:
    phase: int
    function: object
    tolerance: float  # how far slowdowns may be off, relatively
    csv_only: bool


def kind(name, phase=ROWS, tolerance=0.0, csv_only=False):
    def register(function):
        KINDS[name] = Kind(phase, function, tolerance, csv_only)
        return function

    return register


def some(draw, values, at_most=0.5):
    """At least one of the values, in their order."""
    values = list(values)
    count = draw.randint(1, max(1, int(len(values) * at_most)))
    chosen = set(draw.sample(range(len(values)), count))
    return [value for place, value in enumerate(values) if place in chosen]


def some_step(job, draw):
    return draw.choice(steps_of(job.rows))


def some_later_step(job, draw):
    """Any but the first, if there are several."""
    return draw.choice(steps_of(job.rows)[1:] or steps_of(job.rows))


def some_rank(job, draw):
    return draw.choice(sorted({row.rank for row in job.rows}))


def some_host(job, draw):
    """The ranks whose clock is one."""
    host = draw.choice(sorted(set(job.hosts.values())))
    return {rank for rank, of in job.hosts.items() if of == host}


def keep(job, condition):
    job.rows = [row for row in job.rows if condition(row)]


def scale(rows, start_factor, duration_factor):
    for row in rows:
        row.start *= start_factor
        if not isinstance(row.duration, str):
            row.duration *= duration_factor


# -- Real changes: the clean trace has them, too. Starts are still relative to their step.


@kind("slow reductions", REAL)
def slow_reductions(job, draw):
    ranks = set(some(draw, {row.rank for row in job.rows}))
    reductions = [row for row in job.rows if row.rank in ranks and row.optype == "grads-reduce-scatter"]
    for row in some(draw, reductions, 0.1) if reductions else []:
        row.duration *= 8
    return bool(reductions)


@kind("warm-up step", REAL)
def warm_up_step(job, draw):
    first = steps_of(job.rows)[0]
    factor = draw.uniform(2, 4)
    scale([row for row in job.rows if row.step == first], factor, factor)
    return True


@kind("other number of micro-batches in some steps", REAL)
def other_batches(job, draw):
    steps = set(some(draw, steps_of(job.rows), 0.7))
    keep(job, lambda row: row.step not in steps)
    job.rows += [row.copy() for row in job.base.fewer_rows if row.step in steps]
    job.rows.sort(key=lambda row: (row.step, row.rank, row.optype, row.seq_id))
    return True


@kind("tiny negative durations", REAL)
def tiny_negative_durations(job, draw):
    tiny = [row for row in job.rows if row.duration < 5e-6]
    for row in some(draw, tiny, 0.3) if tiny else []:
        row.duration = -draw.uniform(1e-7, 5e-6)
    return bool(tiny)


@kind("clip rows absent", REAL)
def clip_absent(job, draw):
    """Nothing waits for the slowest worker there, which is another job."""
    keep(job, lambda row: row.optype != "optimizer-clip-main-grad")
    return True


# -- Rows that are missing


@kind("rows dropped")
def rows_dropped(job, draw):
    steps = set(some(draw, steps_of(job.rows), 0.4))
    rows = [place for place, row in enumerate(job.rows) if row.step in steps]
    dropped = set(draw.sample(rows, min(len(rows), draw.choice([1, 3, 20]))))
    job.rows = [row for place, row in enumerate(job.rows) if place not in dropped]
    return True


@kind("a worker missing in some steps")
def worker_missing(job, draw):
    rank, steps = some_rank(job, draw), set(some(draw, steps_of(job.rows), 0.7))
    keep(job, lambda row: row.rank != rank or row.step not in steps)
    return True


@kind("steps missing")
def steps_missing(job, draw):
    steps = set(some(draw, steps_of(job.rows)))
    keep(job, lambda row: row.step not in steps)
    return True


def log_ends(job, draw, begins_late):
    attribute = draw.choice(["rank", "dp_rank"])  # a worker's log or a replica's
    value = getattr(draw.choice(job.rows), attribute)
    step = some_later_step(job, draw)
    keep(job, lambda row: getattr(row, attribute) != value or (row.step >= step) == begins_late)
    return True


@kind("a log ends early")
def log_ends_early(job, draw):
    return log_ends(job, draw, False)


@kind("a log begins late")
def log_begins_late(job, draw):
    return log_ends(job, draw, True)


@kind("gc or layernorm rows absent")
def short_ops_absent(job, draw):
    """They take no time in synthetic jobs, so that the answer is that for the base."""
    names = ["gc", "layernorm-grads-all-reduce"]
    absent = draw.choice([names[:1], names[1:], names])
    keep(job, lambda row: row.optype not in absent)
    return True


@kind("warm-up step with other reductions")
def other_reductions(job, draw):
    first = steps_of(job.rows)[0]
    stage = draw.choice(job.rows).stage
    rows = [row for row in job.rows if (row.step, row.stage, row.optype) == (first, stage, "grads-reduce-scatter")]
    if not rows:
        return False
    last = max(row.seq_id for row in rows)
    if draw.random() < 0.5:
        keep(job, lambda row: not (row in rows and row.seq_id == last))
    else:
        for row in [row for row in rows if row.seq_id == last]:
            again = row.copy()
            again.seq_id += 1
            again.start = row.end()
            job.rows.append(again)
    return True


# -- Rows that are there twice


@kind("rows twice")
def rows_twice(job, draw):
    for row in some(draw, job.rows, 0.1):
        job.rows.insert(draw.randrange(len(job.rows)), row.copy())
    return True


@kind("steps run again")
def steps_run_again(job, draw):
    """One or two steps ran, the job failed, and they ran again, later."""
    steps = steps_of(job.rows)
    first = draw.randrange(len(steps))
    again = set(steps[first : first + draw.randint(1, 2)])
    ended = [row for row in job.rows if row.step in again]
    begin = min(row.start for row in ended)
    length = max(row.end() for row in ended) - begin
    pace = draw.uniform(0.8, 0.95)
    lost = copies(ended)
    for row in lost:
        row.start = begin + (row.start - begin) * pace if job.absolute else row.start * pace
        row.duration *= pace
    if draw.random() < 0.5:  # the last of them was not finished
        last = [row for row in lost if row.step == max(again)]
        cut = draw.choice(last).start
        lost = [row for row in lost if row.step != max(again) or row.start < cut]
    if job.absolute:
        pause = length * draw.uniform(1, 20)
        for row in job.rows:
            if row.step >= steps[first]:
                row.start += length + pause
    at = draw.choice([0, len(job.rows)])
    job.rows[at:at] = lost
    return True


# -- Values that cannot be


@kind("durations that are none")
def durations_that_are_none(job, draw):
    texts = ["nan", "inf", "-1e9", "-5.0"] if job.raw_log else ["nan", "inf", "", "-1e9", "-5.0"]
    for row in draw.sample(job.rows, draw.choice([1, 5, 20])):
        row.duration = draw.choice(texts)
    return True


@kind("unknown op types")
def unknown_optypes(job, draw):
    for row in draw.sample(job.rows, draw.choice([1, 30])):
        other = row.copy()
        other.optype = draw.choice(["data-loading", "checkpoint-save", "moe-dispatch"])
        job.rows.insert(draw.randrange(len(job.rows)), other)
    return True


@kind("passes of length 0")
def passes_of_no_length(job, draw):
    rank = some_rank(job, draw)
    steps = set(steps_of(job.rows) if draw.random() < 0.4 else some(draw, steps_of(job.rows), 0.3))
    for row in job.rows:
        if row.rank == rank and row.step in steps and row.optype in PASSES:
            row.duration = 0.0
    return True


@kind("starts of 0")
def starts_of_zero(job, draw):
    where = draw.choice(["step", "rank in a step", "rank", "trace"])
    rank, step = some_rank(job, draw), some_step(job, draw)
    for row in job.rows:
        if (where in ("rank", "trace") or row.step == step) and (where in ("step", "trace") or row.rank == rank):
            row.start = 0.0
    return True


# -- Units


def in_another_unit(job, draw, start_factor, duration_factor, wheres):
    where = draw.choice(wheres)
    rank, step = some_rank(job, draw), some_later_step(job, draw)
    affects = {
        "trace": lambda row: True,
        "rank": lambda row: row.rank == rank,
        "step": lambda row: row.step == step,
        "rank in a step": lambda row: row.rank == rank and row.step == step,
        "steps from": lambda row: row.step >= step,
    }[where]
    scale([row for row in job.rows if affects(row)], start_factor, duration_factor)
    return True


@kind("a rank in another unit")
def rank_in_another_unit(job, draw):
    factor = draw.choice([1e3, 1e6])
    return in_another_unit(job, draw, factor, factor, ["rank"])


@kind("steps in milliseconds")
def steps_in_milliseconds(job, draw):
    return in_another_unit(job, draw, 1e3, 1e3, ["step", "steps from"])


@kind("durations in another unit")
def durations_in_another_unit(job, draw):
    wheres = ["trace", "rank", "step", "rank in a step", "steps from"]
    return in_another_unit(job, draw, 1.0, draw.choice([1e-3, 1e3]), wheres)


# -- Clocks


@kind("a clock off", tolerance=CLOCK_TOLERANCE)
def clock_off(job, draw):
    ranks, offset = some_host(job, draw), draw.uniform(0.02, 0.5) * draw.choice([-1, 1])
    for row in job.rows:
        row.start += offset if row.rank in ranks else 0.0
    return True


@kind("a clock off by hours", tolerance=CLOCK_TOLERANCE)
def clock_off_by_hours(job, draw):
    ranks, hours = some_host(job, draw), draw.choice([-8, -1, 1, 2, 5.5, 9])
    for row in job.rows:
        row.start += 3600 * hours if row.rank in ranks else 0.0
    return True


@kind("a clock drifts", tolerance=CLOCK_TOLERANCE)
def clock_drifts(job, draw):
    if not job.absolute:
        return False
    ranks, rate = some_host(job, draw), draw.choice([-50e-6, 50e-6])
    first, pause = min(steps_of(job.rows)), draw.choice([30.0, 120.0])
    for row in job.rows:
        row.start += (row.step - first) * pause  # of many steps one is recorded
        row.start += rate * (row.start - job.origin) if row.rank in ranks else 0.0
    return True


@kind("a clock set between steps", tolerance=CLOCK_TOLERANCE)
def clock_set_between_steps(job, draw):
    ranks, by = some_host(job, draw), draw.uniform(0.02, 5) * draw.choice([-1, 1])
    step = some_later_step(job, draw)
    for row in job.rows:
        row.start += by if row.rank in ranks and row.step >= step else 0.0
    return True


@kind("a clock set inside a step", tolerance=CLOCK_TOLERANCE)
def clock_set_inside_a_step(job, draw):
    """Later steps are shifted, too, unless the starts of each step count from its begin by this clock."""
    ranks, by = some_host(job, draw), draw.uniform(0.1, 30) * draw.choice([-1, 1])
    step = some_step(job, draw)
    rows = [row for row in job.rows if row.step == step and row.rank in ranks]
    last_shared = max((row.start for row in rows if row.optype in SYNCHRONIZED), default=0.0)
    earlier = [row.start for row in rows if row.start < last_shared]  # after it no other clock shows anything
    if not earlier:
        return False
    at = draw.choice(earlier)
    stays = job.absolute or draw.random() < 0.5
    for row in job.rows:
        if row.rank in ranks and ((row.step == step and row.start > at) or (row.step > step and stays)):
            row.start += by
    return True


# -- Names of workers and steps


@kind("a replaced rank")
def replaced_rank(job, draw):
    rank, step = some_rank(job, draw), some_step(job, draw)
    new_rank = rank + 1000
    job.hosts[new_rank] = max(job.hosts.values()) + 1
    for row in job.rows:
        if row.rank == rank and row.step >= step:
            row.rank = new_rank
    return True


@kind("a step counter one later")
def step_counter_later(job, draw):
    attribute = draw.choice(["rank", "dp_rank"])
    value = getattr(draw.choice(job.rows), attribute)
    for row in job.rows:
        row.step += getattr(row, attribute) == value
    renamed = copies(job.truths[0])  # for the others may be the ones whose counter is wrong
    for row in renamed:
        row.step += 1
    job.truths.append(renamed)
    return True


@kind("rows in any order")
def rows_in_any_order(job, draw):
    draw.shuffle(job.rows)
    return True


# -- Files; line ends last, as the others write LF


@kind("further columns", FILES, csv_only=True)
def further_columns(job, draw):
    job.extra_columns = True
    job.write_files()
    return True


@kind("a file twice", FILES)
def file_twice(job, draw):
    job.files.append(list(draw.choice(job.files)))
    job.files[-1][0] = "again-" + job.files[-1][0]
    return True


@kind("a file cut", FILES)
def file_cut(job, draw):
    file = draw.choice(job.files)
    file[1] = file[1][: int(len(file[1]) * draw.uniform(0.4, 0.99))]
    return True


@kind("a header again", FILES, csv_only=True)
def header_again(job, draw):
    file = draw.choice(job.files)
    lines = file[1].splitlines()
    for _ in range(draw.randint(1, 3)):
        lines.insert(draw.randint(1, len(lines)), lines[0])
    file[1] = "\n".join(lines) + "\n"
    return True


@kind("blank lines", FILES)
def blank_lines(job, draw):
    file = draw.choice(job.files)
    lines = file[1].splitlines()
    for _ in range(draw.randint(1, 20)):
        lines.insert(draw.randrange(len(lines) + 1), draw.choice(["", "", "  "]))
    file[1] = "\n".join(lines) + "\n"
    return True


@kind("a comment on top", FILES)
def comment_on_top(job, draw):
    for file in job.files:
        file[1] = draw.choice(["# exported by a script\n", "# a, b, c\n"]) + file[1]
    return True


@kind("an empty file", FILES)
def empty_file(job, draw):
    job.files.append([job.files[0][0].replace(".", "-none."), draw.choice(["", "\n"])])
    return True


@kind("lines end in CR LF", FILES)
def carriage_returns(job, draw):
    for file in job.files:
        file[1] = file[1].replace("\n", "\r\n")
    return True


@kind("lines end in CR", FILES)
def old_line_ends(job, draw):
    for file in job.files:
        file[1] = file[1].replace("\n", "\r")
    return True


@kind("UTF-16", FILES)
def utf_16(job, draw):
    job.encoding = "utf-16"
    return True
