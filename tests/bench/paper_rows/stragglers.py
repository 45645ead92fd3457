"""The figures of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25)."""
import json
import pathlib
import statistics

from reproduce_papers import Row, within

DATA = ()
PLANS = pathlib.Path(__file__).resolve().parents[3] / "configs/plans"


# ---- Injected slowdowns: one worker of a job with DP, PP and TP of 4 and CP 1 is slow.

JOB = ("llama3-70b-h100", {"dp": 4, "pp": 4, "tp": 4, "cp": 1})
MEASURED_WITHIN = 5e-4  # of the slowdown that is sought
MOST_FACTOR = 8


def synth(goodput, name, plan, parallel, stragglers, seed=0):
    """The truth about a trace of a shipped plan, and the path of the trace."""
    content = json.loads((PLANS / f"{plan}.json").read_text())
    content["parallel"].update(parallel)
    content["stragglers"] = stragglers
    trace = str(pathlib.Path(goodput.folder.name) / f"{name}.csv")
    return goodput.run_once("synth", goodput.file(f"{name}.json", content), "--out", trace, "--seed", str(seed)), trace


def measured_slowdown(truth):
    """The step's time over that without the straggler."""
    return truth["truth"]["recorded_step_s"] / truth["truth"]["clean_step_s"]


def estimated_slowdown(paper_measured):
    """S of the job whose worker (dp 0, stage 0) is so slow that steps take paper_measured times as long."""
    def ours(goodput):
        low, high = 1.0, float(MOST_FACTOR)
        while True:
            factor = (low + high) / 2
            truth, trace = synth(goodput, f"slow-{paper_measured}", *JOB,
                                 [{"kind": "worker-fault", "dp": 0, "stage": 0, "factor": factor}])
            off = measured_slowdown(truth) / paper_measured - 1
            if abs(off) <= MEASURED_WITHIN:
                return goodput.run_once("whatif", trace)["slowdown"]
            low, high = (low, factor) if off > 0 else (factor, high)
    return ours


# ---- Sequence lengths: S of a shipped plan with only sequence_length changed.

SEEDS = range(4)
LENGTHS = (4096, 8192, 16384, 32768)


def growth(short, long):
    """How many times S - 1 with the shorter sequences the mean S - 1 with the longer ones is."""
    def ours(goodput):
        def loss(length):
            truths = [synth(goodput, f"{short}-{length}-{seed}", "llama3-8b-h100", {"sequence_length": length},
                            [{"kind": "sequence-length"}], seed)[0] for seed in SEEDS]
            return statistics.mean(truth["truth"]["slowdown"] for truth in truths) - 1
        return loss(long) / loss(short)
    return ours


# ---- The fleet: jobs drawn from the mixture that was fitted to the paper, studied as the paper studies its jobs.

JOBS = 800


def study(goodput):
    folder = str(pathlib.Path(goodput.folder.name) / "fleet")
    goodput.run("synth", "--fleet", JOBS, "--out", folder, "--seed", 2)
    return goodput.run("fleet", f"{folder}/results", "--job-info", f"{folder}/jobs.csv")


def figure(key, scale=1):
    """A figure of the study, with its 95 % interval if there is one."""
    def ours(goodput):
        found = next(one for one in study(goodput)["figures"] if one["figure"] == key)
        return tuple(scale * value for value in (found["value"], *(found["ci"] or ())))
    return ours


def left_out(key, unit):
    """Percent of the jobs or gpu_hours that reached this filter, which it leaves out."""
    def ours(goodput):
        found = next(one for one in study(goodput)["filters"] if one["filter"] == key)
        return 100 * found[unit] / found[f"of_{unit}"]
    return ours


def fitted(section, what, paper, key, parameter, relation=""):
    """A share that a parameter of the mixture was set on."""
    return Row(section, what, f"{relation}{paper:.1f} %", (paper, paper), figure(key, 100), fitted=parameter, unit=" %")


def fitted_slowdown(section, what, paper, key, parameter):
    return Row(section, what, f"{paper:.2f}", (paper, paper), figure(key), fitted=parameter)


INJECTED = [Row("6", f"S of a job that takes {measured:.2f}x as long with a slow worker", f"{estimated:.2f}",
                within(measured, 0.05), estimated_slowdown(measured), note="a")
            for measured, estimated in ((1.16, 1.21), (1.40, 1.42), (2.03, 1.98))]

LONGER = [Row("5, Fig. 12", f"S - 1 from sequence lengths, {long} over {short} tokens", "more", (1, None),
              growth(short, long), note="b", unit="x")
          for short, long in zip(LENGTHS, LENGTHS[1:])]

FLEET = [
    fitted("4, Fig. 3", "jobs with S >= 1.1", 42.5, "slow_jobs", "causes"),
    fitted("4, Fig. 3", "waste of a job, P90", 21.3, "waste_p90", "causes", ">= "),
    fitted("4, Fig. 3", "waste of a job, P99", 45, "waste_p99", "causes", ">= "),
    fitted("4, Fig. 3", "waste of all GPU-hours", 10.4, "gpu_hours_wasted", "causes"),
    fitted_slowdown("5", "mean S of jobs with S >= 1.1", 1.28, "slow_jobs_slowdown", "causes"),
    Row("4.2, Fig. 4", "slowdown of a step over S of its job, P50", "1.0", (0.95, 1.05), figure("step_p50")),
    fitted_slowdown("4.2, Fig. 4", "slowdown of a step over S of its job, P90", 1.06, "step_p90", "causes"),
    fitted("5, Fig. 6", "jobs with S >= 1.1 that have M_W > 0.5", 1.7, "m_w", "share of worker faults"),
    fitted_slowdown("5, Fig. 6", "mean S of these", 3.04, "m_w_slowdown", "worker faults"),
    fitted("5, Fig. 7", "jobs with pipelines that have M_S >= 0.5", 39.3, "m_s", "share of uneven stages"),
    fitted("5, Fig. 11", "jobs with a correlation >= 0.9", 21.4, "correlation", "share of sequence lengths"),
    fitted_slowdown("5, Fig. 11", "mean S of these", 1.34, "correlation_slowdown", "sequence lengths"),
    fitted("6", "replay off by, P50", 1.3, "discrepancy_p50", "median_discrepancy"),
    fitted("6", "replay off by, P90", 5.5, "discrepancy_p90", "discrepancy_sigma"),
    Row("7", "jobs restarted more than 15 times", "13.9 %", (13.9, 13.9), left_out("restarts", "jobs"),
        fitted="restarted_share", unit=" %"),
    Row("7", "... their share of the GPU-hours", "7.3 %", within(7.3, 0.2), left_out("restarts", "gpu_hours"),
        note="c", unit=" %"),
    Row("7", "jobs with too few steps, of the rest", "14.0 %", (14, 14), left_out("steps", "jobs"),
        fitted="short_share", unit=" %"),
    Row("7", "jobs whose replay is off by 5 % or more, of the rest", "11.2 %", within(11.2, 0.2),
        left_out("discrepancy", "jobs"), unit=" %"),
    Row("7", "... their share of the GPU-hours", "7.7 %", within(7.7, 0.2), left_out("discrepancy", "gpu_hours"),
        note="c", unit=" %"),
]

ROWS = INJECTED + LONGER + FLEET
