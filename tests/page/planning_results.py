"""Results of simulate, plan, sweep and check to make pages of, and older ones that lack what charts need."""

import json

HOSTILE = "<script>window.pwned = 1</script>\u202egpj"

# Nodes that fail often, a goal with a deadline, a price; one policy that cannot run a job of ten nodes.
SCENARIO = {
    "plan": "lazarus-gpt-s",
    "failures": {"model": "exponential", "nodes": 10, "mtbf_hours": 2, "repair_s": 600},
    "usd_per_node_hour": 1.5, "samples": 60000, "deadline_s": 900, "duration_s": 7200, "trials": 20,
    "policies": {"ds": {}, "elastic_dp": {}, "never": {"policy": "ds", "ep": 16}},
}

QUESTION = {
    "model": "llama3-8b", "cluster": "dgx-h100", "gpus": 64, "tokens": 40000000000, "batch": 256, "sequence_length": 8192,
    "usd_per_node_hour": 20, "storage_gb_per_s": 5, "detect_s": 120, "startup_s": 300, "swap_s": 60,
    "failures": {"model": "exponential", "failures_per_1000_node_days": 200, "repair_s": 43200, "repair": "exponential"},
    "search": {"tp": [1], "pp": [1, 2], "cp": [1]}, "plans": 2, "policies": {"checkpoint": {}, "elastic_dp": {}},
    "spares": [0, 1, 2], "intervals": [0.5, 1, 2], "max_trials": 32,
}

COMMANDS = {
    "simulate": ["simulate", "scenario.json"],
    "plan": ["plan", "question.json"],
    "late": ["plan", "question.json", "--deadline", "1h@95%"],
    "sweep": ["sweep", "scenario.json", "--vary", "/failures/mtbf_hours=1,2,4", "--vary", "/policies/ds/checkpoint/interval_steps=50,200,800",
              "--policy", "ds", "--policy", "elastic_dp", "--trials", "4", "--out", "sweep"],
    "checked": ["check", "smoke", "--run", "trace"],
}


def write_inputs(folder):
    (folder / "scenario.json").write_text(json.dumps(SCENARIO))
    (folder / "question.json").write_text(json.dumps(QUESTION))


def case(name, outcome, change=None, ci=None, **others):
    return {"name": name, "run": "exponential", "policy": "ds", "command": ["simulate", "s.json"], "metric": "goodput",
            "better": "more", "compare": "statistical", "tolerance": {"relative": 0.01, "confidence": 0.95}, "baseline": 0.8,
            "candidate": None if change is None else 0.8 * (1 + change), "change": change, "change_is_relative": True, "ci": ci,
            "p_value": 0.01, "trials": 64, "looks": 3, "outcome": outcome, "reason": "", "why": [], **others}


def check():
    """A check of which something came out each way."""
    cases = [case("same", "same", 0.0, [0.0, 0.0]), case("better", "better", 0.021, [0.012, 0.03]),
             case("little worse", "worse", -0.0121, [-0.016, -0.008], why=["steps_lost: 812 to 1002"]),
             case(HOSTILE, "worse", -0.034, [-0.041, -0.027], why=["noticing a loss takes longer"]),
             case("open", "undecided", -0.008, [-0.022, 0.006], reason="310 more trials would tell"),
             case("moved", "changed", 0.0004, None, better="same", compare="tolerance", tolerance={"relative": 0.0001}),
             case("broken", "failed", reason="no such file"), case("count", "worse", 3.0, None, change_is_relative=False, baseline=0.0,
                                                                 compare="exact", tolerance=None)]
    counts = {outcome: sum(1 for one in cases if one["outcome"] == outcome)
              for outcome in ("failed", "worse", "changed", "undecided", "better", "gone", "new", "same")}
    time = {"run": "exponential", "rounds": 15, "baseline_s": 0.8, "candidate_s": 0.9, "aa": {"of_minima": 1.0, "of_medians": 1.01},
            "ab": {"of_minima": 1.1, "of_medians": 1.12}, "outcome": "slower"}
    return {"schema": "goodput.check/1", "version": "0.1.0", "revision": "0", "seed": 0, "config_hash": None, "calibration": None,
            "lowest_tier": None, "suite": "smoke", "verdict": "regression", "baseline": "baselines/smoke.json", "notes": [],
            "counts": counts, "cases": cases, "time": [time]}


def limited(plan):
    """The same plan with what only other questions have: limits, nodes from a spot market, notes, inputs that hardly matter."""
    best = {**plan["best"], "nodes_held": 10, "training_nodes": 8.0, "spares": 2, "spot_nodes": 4, "interval_steps": 88,
            "interval_s": 638.9, "p_deadline": 0.977, "deadline_shown": True, "p_budget": 0.9, "budget_shown": False, "trials": 128,
            "ci": {**plan["best"]["ci"], "p_deadline": [0.95, 0.99], "p_budget": [0.85, 0.95]}}
    rival = {"policy": "elastic_dp", "spares": 0, "spot_nodes": 2, "interval": 1, "parallel": best["parallel"]}

    def shift(factor, change, within_limits=True, instead=None):
        return {"factor": factor, "value": 100 * factor, "objective": 1.0, "change": change, "within_limits": within_limits,
                "instead": instead}

    def uncertain(name, unit, shifts, break_even=(), value=100.0):
        return {"input": name, "unit": unit, "tier": "assumed", "value": value, "shifts": shifts, "break_even": list(break_even)}

    even = {"factor": 0.5, "value": 50.0, "interval": [40.0, 62.5], "instead": rival}
    inputs = [uncertain("failures_per_1000_node_days", "per 1000 node-days", [shift(0.5, -0.013), shift(2, 0.056, False)], [even]),
              uncertain("detect_s", "s", [shift(0.5, -0.0006), shift(2, 0.0012)]),
              uncertain("cost model calibrated", "", [{**shift(1, -0.194, instead=rival), "value": 0.0}], value=0.0)]
    question = {**plan["question"], "deadline": "79200s@95%", "budget": "4000@90%"}
    return {**plan, "question": question, "best": best, "ties": [{**best, "interval_steps": 11, "interval_s": 79.9},
                                                                 {**best, "interval_steps": 44, "interval_s": 319.4}],
            "sensitivity": inputs, "not_examined": ["swap_s", "spot/usd_per_node_hour"],
            "notes": ["Every trial replays the same recording, so there is one run."]}


def without_charts(simulate, plan, sweep):
    """The same results as programs wrote them before they held what charts are drawn of."""
    policies = {name: {key: value for key, value in policy.items() if key not in ("recorded_trial", "distribution")}
                for name, policy in simulate["policies"].items()}
    return [{**simulate, "policies": policies}, {key: value for key, value in plan.items() if key not in ("contenders", "options", "one_factor")},
            {key: value for key, value in sweep.items() if key != "outcomes"}]


def make_pages(run, folder):
    """The pages that no command writes by itself, by name."""
    (folder / "check.result.json").write_text(json.dumps(check()))
    run("report", "check.result.json", "--out", "check.html")
    results = [json.loads((folder / f"{name}.result.json").read_text()) for name in ("simulate", "plan", "sweep")]
    (folder / "limited.result.json").write_text(json.dumps(limited(results[1])))
    run("report", "limited.result.json", "--out", "limited.html")
    older = [f"older{at}.json" for at in range(len(results))]
    for name, result in zip(older, without_charts(*results)):
        (folder / name).write_text(json.dumps(result))
    run("report", *older, "--out", "older.html")
    return {name: folder / f"{name}.html" for name in ("check", "limited", "older")}
