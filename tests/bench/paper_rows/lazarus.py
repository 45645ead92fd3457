"""The figures of Lazarus: arXiv 2407.04656, version 2 (sections 6.2 to 6.7 and A.1) and, where it says v1, version 1."""
import itertools
import json
import time

from reproduce_papers import Row, within

DATA = ("routing/smartmoe_expert_load_agg.csv.gz",)  # in the folder of shared data
SIZES = ("GPT-S", "GPT-M", "GPT-L")


def ratio(scenario, name, sets=(), metric="samples"):
    """How many times what the second policy trains the first trains; with jct_s how many times as fast it is."""
    def ours(goodput):
        value = goodput.simulate(scenario, sets)["ratios"][name][metric]
        return 1 / value if metric == "jct_s" else value
    return ours


def policy(scenario, name, value, sets=()):
    return lambda goodput: value(goodput.simulate(scenario, sets)["policies"][name])


def share(*buckets):
    """Percent of a policy's time in these buckets."""
    return lambda outcome: 100 * sum(outcome["time_s"].get(b, 0) for b in buckets) / outcome["wall_s"]


CHECKPOINT_AND_RESTART = ("program_startup", "checkpoint_save", "checkpoint_restore", "wasted_progress_from_disruption")


# ---- A part of a run: the same trials until its end, less the same until its begin.

def part(goodput, scenario, name, begin_s, end_s):
    """Samples, and samples per second of productive time. Losses in the part make both too low."""
    ends = [goodput.simulate(scenario, (("/duration_s", s),))["policies"][name] for s in (begin_s, end_s)]
    samples = ends[1]["samples"] - ends[0]["samples"]
    return samples, samples / (ends[1]["time_s"]["productive"] - ends[0]["time_s"]["productive"])


def rate_ratio(scenario, above, below, begin_s, end_s):
    """Of samples per second of productive time."""
    return lambda goodput: part(goodput, scenario, above, begin_s, end_s)[1] / part(goodput, scenario, below, begin_s, end_s)[1]


def samples_ratio(scenario, above, below, begin_s, end_s):
    return lambda goodput: part(goodput, scenario, above, begin_s, end_s)[0] / part(goodput, scenario, below, begin_s, end_s)[0]


def speedup_of_last_window(goodput):
    """The fifth node is lost at 12,000 s; a part begins 100 s after a loss."""
    five = part(goodput, "controlled-40min-gpt-l", "lazarus", 12100, 14300)[1]
    return five / part(goodput, "controlled-40min-gpt-l", "lazarus", 9700, 11900)[1]


def saved_share(size):
    """Steps that DS saves in minutes 5 to 25 with a checkpoint every 200 steps, in percent of those that Lazarus trains. A
    second after a loss only saved ones are left."""
    def ours(goodput):
        sets = (("/policies/ds/checkpoint/interval_steps", 200),)
        ends = [goodput.simulate(f"controlled-5min-{size.lower()}", (*sets, ("/duration_s", end_s)))["policies"]
                for end_s in (301, 1501)]
        ds, lazarus = (ends[1][name]["steps"] - ends[0][name]["steps"] for name in ("ds", "lazarus"))
        return 100 * ds / lazarus
    return ours


NO_FAILURES = (("/failures/every_s", 86400), ("/duration_s", 1800), ("/trials", 1))


def healthy_rate(name):
    return policy("controlled-5min-gpt-m", name, lambda outcome: outcome["samples"] / outcome["time_s"]["productive"],
                  NO_FAILURES)


def longest_reconfiguration(size):
    return lambda goodput: max(float(trial["longest_reconfiguration_s"])
                               for trial in goodput.trials(f"controlled-5min-{size.lower()}") if trial["policy"] == "lazarus")


# ---- Placements.

RECORDED = "../shared/data/routing/smartmoe_expert_load_agg.csv.gz"
EXPERTS = {"GPT-S": 8, "GPT-M": 12, "GPT-L": 16}


def placement(goodput, plan, *loads, allocation="eq1"):
    return goodput.run("placement", "--nodes", 10, "--slots", 6, "--plan", plan, "--allocation", allocation,
                       "--failures", "1-7", *loads)


def survival(plan, lost, size, iteration=201):
    """Percent of the sets of lost nodes that the placement of the recorded loads survives."""
    return lambda goodput: 100 * placement(goodput, plan, "--loads", RECORDED, "--iteration", iteration, "--top-iteration", 201,
                                           "--layers", "0-11", "--top", EXPERTS[size])["survival"][str(lost)]


TIMES = {"detect_s": {"uniform": [10, 20]}, "regroup_s": {"uniform": [5, 15]}, "plan_s": 0.1, "transfer_setup_s": 2,
         "node_gb_per_s": 0.7}


def migration(size, lost, old, new, figure):
    """Least and most over all sets of lost nodes that the experts survive."""
    def ours(goodput):
        moved = placement(goodput, "mro", "--loads", RECORDED, "--iteration", old, "--new-iteration", new, "--top-iteration", 201,
                          "--layers", "0-11", "--top", EXPERTS[size], "--lose", lost, "--model", size.lower(), "--migration",
                          json.dumps(TIMES))["migration"]
        return moved[figure]["min"], moved[figure]["max"]
    return ours


def skewed(k, of=8):
    """Loads of eight experts: the first gets k/8 of the tokens, the others share the rest."""
    return ",".join(str(load) for load in [7 * k] + [of - k] * (of - 1))


def skewed_survival(plan, k, lost, allocation="eq1"):
    return lambda goodput: 100 * placement(goodput, plan, "--experts", 8, "--loads", skewed(k),
                                           allocation=allocation)["survival"][str(lost)]


def placement_seconds(nodes, slots, layers, experts):
    """Of a whole command: the least of five."""
    def ours(goodput):
        loads = f"{goodput.folder.name}/{layers}x{experts}.csv"
        goodput.run("routing", "synth", "configs/routing/smartmoe-like.json", "--layers", layers, "--experts", experts,
                    "--iterations", 2, "--out", loads)
        command = [str(a) for a in ("placement", "--nodes", nodes, "--slots", slots, "--loads", loads, "--plan", "mro",
                                    "--allocation", "eq1", "--failures", 1)]
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            goodput.run_once(*command)
            times.append(time.perf_counter() - begin)
        return min(times)
    return ours


def mtnlg_minutes(goodput):
    model = goodput.file("mt-nlg.json", {"name": "MT-NLG", "layers": 105, "hidden": 20480, "heads": 128, "ffn": 81920,
                                         "vocab": 50257, "learned_positions": 2048, "tied_head": True, "biases": True})
    size = goodput.run("checkpoint", model, "--bytes-per-param", 12)["total_bytes"]
    return size / (20e9 / 8) / 60


# ---- Section 6.7.

def deepseek(gpus, probability, rival):
    return ratio(f"deepseek-v3-{gpus}", f"lazarus/{rival}", (("/failures/loss_probability", probability),), "jct_s")


def rows_of_spot():
    over_ds = {"GPT-S": 2.3, "GPT-L": 3.4}
    over_ds_ft = {"GPT-S": 1.2, "GPT-L": 1.8}
    fewer = {"GPT-S": 51, "GPT-L": 48}
    for size in ("GPT-S", "GPT-L"):
        scenario = f"spot-p3-{size.lower()}"
        yield Row("6.4", f"spot, samples over DS, {size}", f"{over_ds[size]}x", within(over_ds[size], .2),
                  ratio(scenario, "lazarus/ds"), note="c", unit="x")
        yield Row("6.4", f"spot, samples over DS(FT), {size}", f"{over_ds_ft[size]}x", within(over_ds_ft[size], .2),
                  ratio(scenario, "lazarus/ds_ft"), note="d" if size == "GPT-L" else "", unit="x")
        yield Row("6.4", f"spot, how much less DS trains than DS(FT), {size}", f"{fewer[size]} %", within(fewer[size], .2),
                  lambda goodput, scenario=scenario: 100 * (1 - ratio(scenario, "ds/ds_ft")(goodput)), note="c", unit=" %")
    for size in SIZES:
        yield Row("6.4", f"spot, restarts of Lazarus from a checkpoint, {size}", "1", (1, 1),
                  policy(f"spot-p3-{size.lower()}", "lazarus", lambda outcome: outcome["restarts"]), note="f")
    for size in ("GPT-S", "GPT-M"):
        yield Row("6.4", f"spot, restarts of DS(FT), {size}", "0", (0, 0),
                  policy(f"spot-p3-{size.lower()}", "ds_ft", lambda outcome: outcome["restarts"]))
    yield Row("6.4", "spot, progress that DS(FT) loses per fall-back, GPT-L", "3 to 5 min", (3, 5), progress_lost, unit=" min")
    yield Row("6.4", "spot recording, most of 32 nodes lost at once", "19 %", (18.5, 19.5),
              lambda goodput: 100 * goodput.run("trace", "info", "../shared/data/spot/neutral/bamboo_p3_events.csv")
              ["removal_batches"]["largest"] / 32, unit=" %")
    for size in ("GPT-S", "GPT-M", "GPT-L"):
        yield Row("6.5.2", f"spot, time of Lazarus' reconfigurations and rebalancing, {size}", "< 10 %", (0, 10),
                  policy(f"spot-p3-{size.lower()}", "lazarus",
                         share("infrastructure_recovery_from_disruption", "elastic_slice_down", "elastic_scale_up",
                               "elastic_reinitialization", "expert_rebalancing")), unit=" %")
    for size in ("GPT-S", "GPT-L"):
        yield Row("6.5.2", f"spot, time of DS in checkpoints and restarts, {size}", "> 50 %", (50, None),
                  policy(f"spot-p3-{size.lower()}", "ds", share(*CHECKPOINT_AND_RESTART)), note="c", unit=" %")
    yield Row("6.5.2", "spot, time of DS(FT) in restarts, GPT-L", "27 %", within(27, .2),
              policy("spot-p3-gpt-l", "ds_ft", share("program_startup", "checkpoint_restore",
                                                     "wasted_progress_from_disruption")), note="d", unit=" %")


def progress_lost(goodput):
    """DS(FT) falls back when it restarts, and when it begins to wait for a fourth node."""
    outcome = goodput.simulate("spot-p3-gpt-l")["policies"]["ds_ft"]
    waits = outcome["time_s"]["infrastructure_recovery_from_disruption"] > 600
    return outcome["time_s"]["wasted_progress_from_disruption"] / (outcome["restarts"] + waits) / 60


def rows_of_single_failures():
    for size, steps in (("GPT-S", 2926), ("GPT-L", 1996)):
        yield Row("6.2", f"steps of Lazarus in 30 min, a node lost every 5 min, {size}", str(steps), within(steps, .02),
                  policy(f"controlled-5min-{size.lower()}", "lazarus", lambda outcome: outcome["steps"]), digits=4,
                  fitted="Lazarus' constant per step")
    yield Row("6.2", "samples/s of Lazarus without failures, GPT-M", "45", within(45, .02), healthy_rate("lazarus"),
              fitted="Lazarus' constant per step")
    yield Row("6.2", "samples/s of DS without failures, GPT-M", "34", within(34, .05), healthy_rate("ds"),
              fitted="DS' constant per step")
    for minutes, size, ds, ds_ft in ((5, "GPT-S", 2.8, 1.4), (5, "GPT-L", 5.7, 2.8), (40, "GPT-S", 1.6, None),
                                     (40, "GPT-L", 2.3, None)):
        scenario = f"controlled-{minutes}min-{size.lower()}"
        yield Row("6.2", f"samples over DS, a node lost every {minutes} min, {size}", f"{ds}x", within(ds, .1),
                  ratio(scenario, "lazarus/ds"), unit="x",
                  fitted="start-up of a restart" if minutes == 5 else "DS' constant per step")
        if ds_ft:
            yield Row("6.2", f"samples over DS(FT), a node lost every {minutes} min, {size}", f"{ds_ft}x", within(ds_ft, .2),
                      ratio(scenario, "lazarus/ds_ft"), unit="x")
        else:
            yield Row("6.2", f"samples of DS over DS(FT), a node lost every {minutes} min, {size}", "similar", (.9, 1.1),
                      ratio(scenario, "ds/ds_ft"), unit="x")
    for size in ("GPT-S", "GPT-L"):
        yield Row("6.2", f"progress of DS over Lazarus', minutes 5 to 25, checkpoints every 200 steps, {size}", "none",
                  (0, 5), saved_share(size), note="h" if size == "GPT-L" else "", unit=" %")
    yield Row("6.2", "samples/s of DS(FT) over DS, minutes 5 to 10, GPT-M", "1.6x", within(1.6, .2),
              rate_ratio("controlled-5min-gpt-m", "ds_ft", "ds", 520, 599), note="e", unit="x")
    for size in ("GPT-S", "GPT-M"):
        yield Row("6.2", f"samples of DS(FT) over DS in the last 80 of 240 min, {size}", "less", (None, .999),
                  samples_ratio(f"controlled-40min-{size.lower()}", "ds_ft", "ds", 9600, 14400), unit="x")
    yield Row("6.2", "samples/s of Lazarus with 5 nodes over 6, GPT-L", "more", (1.001, None), speedup_of_last_window, unit="x")


def rows_of_multiple_failures():
    for size in SIZES:
        yield Row("6.3", f"longest of 100 reconfigurations, {size}", "20 to 40 s", (20, 40), longest_reconfiguration(size),
                  note="g", unit=" s")
    for size, lost, step, old, new, total, experts, transfer in (
            ("GPT-S", 2, 200, 191, 201, 21.3, 11, 2.3), ("GPT-S", 3, 4000, 3801, 4001, 34.1, 52, 3.0),
            ("GPT-L", 4, 200, 191, 201, 18.2, 160, 7.6), ("GPT-L", 5, 4000, 3801, 4001, 19.7, 55, 7.8)):
        case = f"Table 2, {size}, {lost} nodes lost at step {step}"
        yield Row("6.3", f"{case}, experts moved", str(experts), (experts, experts),
                  migration(size, lost, old, new, "experts_moved"), note="k" if lost == 2 else "")
        yield Row("6.3", f"{case}, transfer", f"{transfer} s", (transfer, transfer),
                  migration(size, lost, old, new, "transfer_s"), unit=" s", fitted="rate and set-up of transfers")
        yield Row("6.3", f"{case}, whole reconfiguration", f"{total} s", (total, total),
                  migration(size, lost, old, new, "total_s"), note="k" if lost == 4 else "", unit=" s")
    yield Row("6.3", "computing the placement of 12 layers, 16 experts on 10 nodes", "< 100 ms", (None, .1),
              placement_seconds(10, 6, 12, 16), measured=True, unit=" s")
    yield Row("6.3", "recovery from 4 lost nodes at step 200, GPT-L, Lazarus", "41 %", within(41, .1),
              survival("mro", 4, "GPT-L"), note="i", unit=" %")
    yield Row("6.3", "recovery from 4 lost nodes at step 200, GPT-L, spread", "12 %", within(12, .1),
              survival("spread", 4, "GPT-L"), unit=" %")
    yield Row("6.3", "recovery from 1 lost node, GPT-L, compact", "0", (0, 0), survival("compact", 1, "GPT-L"), unit=" %")
    yield Row("6.3", "recovery from 1 lost node at step 4000, GPT-S, compact", "limited", (1, 50),
              survival("compact", 1, "GPT-S", 4001), unit=" %")


def layer_speed(goodput, name, k):
    return goodput.simulate("moe-layer", (("/routing/hot_load", k),))["policies"][name]["samples_per_hour"]


def rows_of_imbalance():
    speeds = lambda goodput, name: [layer_speed(goodput, name, k) for k in range(1, 9)]
    yield Row("6.5.1", "one MoE layer, Lazarus, slowest over fastest from 1:1 to 8:1", "constant", (.9, 1),
              lambda goodput: min(speeds(goodput, "lazarus")) / max(speeds(goodput, "lazarus")), note="l", unit="x")
    yield Row("6.5.1", "one MoE layer, DS, 8:1 over 1:1", "dramatically less", (0, .5),
              lambda goodput: layer_speed(goodput, "ds", 8) / layer_speed(goodput, "ds", 1), unit="x")
    yield Row("6.5.1", "one MoE layer at 1:1, Lazarus over DS", "a small overhead", (.9, 1),
              lambda goodput: layer_speed(goodput, "lazarus", 1) / layer_speed(goodput, "ds", 1), note="l", unit="x")
    for k, lost in itertools.product((2, 4), (4, 5, 6)):
        yield Row("6.5.1", f"recovery from {lost} lost nodes at {k}:1, MRO less spread", "> 0", (.001, None),
                  lambda goodput, k=k, lost=lost: skewed_survival("mro", k, lost)(goodput) - skewed_survival("spread", k, lost)(goodput),
                  note="j" if k == 2 else "", unit=" points")
    for lost in (4, 5, 6):
        yield Row("6.5.1", f"recovery from {lost} lost nodes, MRO, 2:1 less 4:1", "> 0", (.001, None),
                  lambda goodput, lost=lost: skewed_survival("mro", 2, lost)(goodput) - skewed_survival("mro", 4, lost)(goodput),
                  unit=" points")


def rows_of_tutel():
    for size, tutel, tutel_ft, ideal in (("GPT-S", 2.1, 1.8, 1.4), ("GPT-L", 4.0, 3.9, 2.6)):
        yield Row("6.6", f"16 A10G, samples over Tutel, {size}", f"{tutel}x", within(tutel, .25),
                  ratio(f"tutel-5min-{size.lower()}", "lazarus/tutel"), note="a", unit="x",
                  fitted="start-up of Tutel's restart" if size == "GPT-S" else "")
        yield Row("6.6", f"16 A10G, samples over Tutel(FT), {size}", f"{tutel_ft}x", within(tutel_ft, .25),
                  ratio(f"tutel-5min-{size.lower()}", "lazarus/tutel_ft"), unit="x")
        yield Row("A.1", f"ideal failures, samples over Tutel(FT), {size}", f"{ideal}x", within(ideal, .25),
                  ratio(f"tutel-ideal-{size.lower()}", "lazarus/tutel_ft"), unit="x")


def rows_of_deepseek():
    for gpus, probability, ds_ft, ds in ((512, .01, 2.9, 3.9), (512, .15, 3.6, 14.5), (256, .05, 2.9, 4.5),
                                         (1024, .05, 3.5, 10.6)):
        for rival, paper in (("ds_ft", ds_ft), ("ds", ds)):
            fitted = {(.01, "ds_ft"): "routing skew", (.15, "ds"): "mean return probability"}.get((probability, rival), "")
            yield Row("6.7", f"DeepSeek-V3 on {gpus} GPUs, p = {probability}, speed over {'DS(FT)' if rival == 'ds_ft' else 'DS'}",
                      f"{paper}x", within(paper, .25), deepseek(gpus, probability, rival), fitted=fitted, note="b", unit="x")


def of_model(size, value):
    return lambda goodput: value(goodput.run("checkpoint", size.lower()))


def rows_of_models():
    for size, paper, band in (("GPT-S", "521 M", (520.5, 521.5)), ("GPT-M", "1.3 B", (1250, 1350)), ("GPT-L", "1.7 B", (1650, 1750))):
        yield Row("6.1, Table 1", f"parameters of {size}", paper, band, of_model(size, lambda result: result["parameters"] / 1e6),
                  digits=4, unit=" M")
    for size, paper in (("GPT-S", 63), ("GPT-L", 112)):
        yield Row("6.3", f"state of one expert of {size}, in MiB", f"{paper} MB", (paper - .5, paper + .5),
                  of_model(size, lambda result: result["expert_bytes"] / result["moe_layers"] / 2**20), digits=4, note="n", unit=" MiB")


def rows_of_other_claims():
    yield Row("6.7", "computing the placement of 58 layers, 256 experts on 1,024 GPUs", "< 1 s", (None, 1),
              placement_seconds(128, 32, 58, 256), measured=True, unit=" s")
    yield Row("v1 2.2", "writing a checkpoint of MT-NLG at 20 Gb/s", "42 min", within(42, .02), mtnlg_minutes, unit=" min",
              fitted="12 bytes per parameter")
    yield Row("6.3", "recovery from 2 lost nodes at step 4000, GPT-S, compact", "limited", (1, 50),
              survival("compact", 2, "GPT-S", 4001), note="m", unit=" %")


ROWS = list(itertools.chain(rows_of_single_failures(), rows_of_multiple_failures(), rows_of_spot(), rows_of_imbalance(),
                            rows_of_tutel(), rows_of_deepseek(), rows_of_other_claims(),
                            rows_of_models()))
