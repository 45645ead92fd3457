"""The figures of "Partial Experts Checkpoint": arXiv 2408.04307."""
import json

from reproduce_papers import ROOT, Row, within

DATA = ()
MODELS = ROOT / "configs/models"
SMALL = ("gpt2-moe-small", "--bytes-per-param", 12)
ALL_EXPERTS = 8


def checkpoint(*options, value):
    """Of GPT2-MoE-Small, 32-bit weights and optimizer state, 8 ranks."""
    return lambda goodput: value(goodput.run("checkpoint", *SMALL, *options))


def small_model(goodput, **changes):
    """GPT2-MoE-Small with some keys changed; a key that is None is left out."""
    model = json.loads((MODELS / "gpt2-moe-small.json").read_text()) | changes
    path = goodput.file(f"{'-'.join(changes)}.json", {key: value for key, value in model.items() if value is not None})
    return goodput.run("checkpoint", path)


def parameters_over_dense(goodput):
    return goodput.run("checkpoint", *SMALL)["parameters"] / small_model(goodput, moe=None)["parameters"]


def saved(k, sharding):
    """Percent of what the heaviest rank (without sharding the mean rank) writes in full that it saves."""
    return checkpoint("--pec-k", k, "--sharding", sharding, value=lambda result: 100 * result["per_rank_saving"])


def peak(k, sharding):
    return checkpoint("--pec-k", k, "--sharding", sharding, value=lambda result: result["per_rank_max_bytes"])


def adps_over_edps(key):
    return lambda goodput: 100 * (1 - checkpoint("--pec-k", 1, "--sharding", "adps", value=lambda r: r[key])(goodput) /
                                  checkpoint("--pec-k", 1, "--sharding", "edps", value=lambda r: r[key])(goodput))


def plt(*options):
    """Percent of lost tokens."""
    return checkpoint("--sharding", "adps", *options, value=lambda result: 100 * result["plt"])


def one_fault(k, interval):
    """After half of the run, when every expert has had its turn."""
    return plt("--pec-k", k, "--interval", interval, "--steps", 1280, "--faults", 640)


def ratio(above, below):
    return lambda goodput: above(goodput) / below(goodput)


# Figure 7: two nodes of four ranks each; one node fails. A checkpoint is saved after every step.
def two_levels(snapshot_k):
    return plt("--pec-k", 1, "--snapshot-k", snapshot_k, "--interval", 1, "--steps", 1000, "--faults", "500:0",
               "--ranks-per-node", 4)


# Figure 5(c).
STORAGE = 0.8  # GB/s per rank: from 0.67 to 1.02 all rows hold


def seconds(k, sharding):
    return lambda goodput: peak(k, sharding)(goodput) / 1e9 / STORAGE


def rows():
    yield Row("A, Table 1", "parameters of GPT2-MoE-Small", "323 M", (322.5, 323.5),
              checkpoint(value=lambda result: result["parameters"] / 1e6), note="a", unit=" M")
    yield Row("A, Table 2", "parameters of SwinV2-MoE", "157 M", (156.5, 157.5),
              lambda goodput: goodput.run("checkpoint", "swinv2-moe")["parameters"] / 1e6, unit=" M",
              fitted="which blocks have experts: every other one of stages 3 and 4")
    yield Row("4.2", "parameters, MoE over dense", "2.18x", (2.175, 2.185), parameters_over_dense, note="a", unit="x")
    yield Row("4.2, Fig. 5(a)", "checkpoint with K = 1 over the dense model's", "comparable", (.9, 1.1),
              checkpoint("--pec-k", 1, value=lambda result: result["pec_bytes"] / result["dense_bytes"]), unit="x")
    yield Row("4.2, Fig. 5(a)", "bytes saved without duplicates, K = 1", "54.2 %", (54.15, 54.25),
              checkpoint("--pec-k", 1, value=lambda result: 100 * result["non_redundant_saving"]), unit=" %")
    yield Row("4.2, Fig. 5(b)", "bytes saved by a rank without sharding, K = 1", "15 %", (14.5, 15.5), saved(1, "none"), unit=" %")
    yield Row("4.2, Fig. 5(b)", "bytes saved by a rank with ADPS, K = 1", "76.9 %", (76.85, 76.95), saved(1, "adps"), digits=4,
              note="b", unit=" %")
    yield Row("4.2, Fig. 5(b)", "average bytes of a rank, ADPS less than EDPS", "the same", (-.1, .1),
              adps_over_edps("per_rank_mean_bytes"), unit=" %")
    yield Row("4.2, Fig. 5(c)", "time of a checkpoint, ADPS less than EDPS", "11.7 %", (11.65, 11.75),
              adps_over_edps("per_rank_max_bytes"), note="c", unit=" %")
    yield Row("4.2, Fig. 5(c)", "time of a checkpoint with all experts, ADPS", "> 0.78 s", (.78, None),
              seconds(ALL_EXPERTS, "adps"), unit=" s", fitted="storage, 0.8 GB/s per rank")
    yield Row("4.2, Fig. 5(c)", "time of a checkpoint with K = 1, EDPS", "< 0.78 s", (None, .78), seconds(1, "edps"), unit=" s",
              fitted="storage, 0.8 GB/s per rank")
    yield Row("4.2, Fig. 5(c)", "time of a checkpoint with K = 1, ADPS", "< 0.78 s", (None, .78), seconds(1, "adps"), unit=" s",
              fitted="storage, 0.8 GB/s per rank")
    yield Row("4.2, Fig. 5(c)", "time of a checkpoint with all experts, EDPS", "> 0.78 s", (.78, None),
              seconds(ALL_EXPERTS, "edps"), unit=" s", fitted="storage, 0.8 GB/s per rank")
    yield Row("4.2, Fig. 5(c)", "time of a checkpoint with K = 1, without sharding", "> 0.78 s", (.78, None), seconds(1, "none"),
              unit=" s")
    yield Row("3.1, Fig. 2(b)", "PLT of one fault, K = 2, interval 32", "7.5 %", within(7.5, .01),
              plt("--pec-k", 2, "--interval", 32, "--steps", 640, "--faults", 320), unit=" %",
              fitted="length of the run, 640 steps")
    yield Row("3.1, Fig. 2(b)", "PLT of one fault, K = 1 over K = 2", "more", (1.001, None), ratio(one_fault(1, 32), one_fault(2, 32)),
              unit="x")
    yield Row("3.1, Fig. 2(b)", "PLT of one fault, interval 64 over 32", "more", (1.001, None),
              ratio(one_fault(2, 64), one_fault(2, 32)), unit="x")
    yield Row("3.1, Fig. 5(d)", "PLT of a run with a fault every 20 of 1,005 steps, interval 1, Dynamic-K from 1", "< 5 %", (0, 5),
              plt("--pec-k", 1, "--dynamic-k", "--interval", 1, "--steps", 1005, "--faults",
                  ",".join(str(step) for step in range(20, 1005, 20))), unit=" %")
    for before, now in ((1, 2), (2, 4), (4, 8)):
        yield Row("4.2, Fig. 7", f"PLT, K_persist 1, K_snapshot {now} over {before}", "less", (None, .999),
                  ratio(two_levels(now), two_levels(before)), unit="x")


ROWS = list(rows())
