#!/usr/bin/env python3
"""Checks the answers of `goodput plan` by brute force: simulates every choice of a contest, many times.

    plan_brute_force.py --goodput build/release/goodput [--trials N] [--seed N] [--break-even] [QUESTION.json ...]

Without questions it runs those of tests/bench/plan_questions. It uses the command line only: `plan` answers a
question, and `simulate` runs every choice on a scenario derived from the one that `plan` wrote. It checks:

- best: no choice that keeps the limits is more than 0.5 % better on the objective.
- pareto: no choice that keeps the limits beats a row of the front by more than 0.5 % in cost or time, and is not
  worse in the other.
- deadline: the probability that the best choice, and every row of the front, keeps the deadline agrees with the plan.
- break-even (only with --break-even): the input value from which on the rival is 0.5 % better agrees with the plan.

"More than 0.5 %" means the whole paired 95 % interval. Two estimates agree if their 95 % intervals overlap. After 64
trials a choice is dropped if it is 5 % worse on the objective than the best, and if another choice is 5 % better in
both cost and time. The exit status is 1 if a check fails.
"""
import argparse
import concurrent.futures
import csv
import io
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

QUESTIONS = pathlib.Path(__file__).resolve().parent / "plan_questions"
SAME = 0.005  # a relative difference that does not matter
CLEARLY_WORSE = 0.05
FIRST_TRIALS = 64
BREAK_EVEN_TRIALS = 2000
BISECTIONS = 8
Z = 1.959963984540054  # of a two-sided 95 % interval
OBJECTIVES = {"cost": "cost", "usd_per_token": "cost", "jct": "jct_s", "goodput": "goodput"}
NODES_OF_OTHERS = ("bursts", "fail_slow")  # failure models that act on the nodes of the others

# Which options the inputs of a question set, by policy (docs/formats/plan-questions.md and scenarios.md).
MIGRATES = ("lazarus", "ds_ft", "tutel_ft", "megatron", "elastic_dp", "oobleck")
SWAPS = ("megatron", "gemini", "hot_spare")
INPUT_OPTIONS = {
    "storage_gb_per_s": (("checkpoint/write_gb_per_s", None), ("checkpoint/read_gb_per_s", None)),
    "storage_duty": (("checkpoint/storage_duty", None),),
    "detect_s": (("restart/detect_s", None), ("migration/detect_s", MIGRATES)),
    "startup_s": (("restart/startup_s", None), ("rejoin_s", ("elastic_dp",))),
    "swap_s": (("swap_s", SWAPS),),
}


# ---- Statistics.

def mean_interval(values):
    mean = statistics.fmean(values)
    if len(values) < 2:
        return mean, -math.inf, math.inf
    half = Z * statistics.stdev(values) / math.sqrt(len(values))
    return mean, mean - half, mean + half


def share_interval(hits, trials):
    """Wilson's interval."""
    share, square = hits / trials, Z * Z / trials
    center = (share + square / 2) / (1 + square)
    half = Z * math.sqrt(share * (1 - share) / trials + square / (4 * trials)) / (1 + square)
    return share, max(0.0, center - half), min(1.0, center + half)


def overlap(one, other):
    return one[0] <= other[1] and other[0] <= one[1]


# ---- Choices.

class Choice:
    """A parallel plan, a policy, spares, spot nodes and an interval, with the trials that were simulated."""

    def __init__(self, row, saves_optimally=False):
        self.parallel = row["parallel"]
        self.policy = row["policy"]
        self.spares = row["spares"]
        self.spot_nodes = row.get("spot_nodes") or 0
        self.interval_steps = row.get("interval_steps") or 0
        self.saves_optimally = saves_optimally  # by Daly's model, whatever interval_steps says
        self.trials = {"cost": [], "jct_s": [], "goodput": [], "in_time": []}
        self.finishes = True

    def key(self):
        return (json.dumps(self.parallel, sort_keys=True), self.policy, self.spares, self.spot_nodes,
                self.interval_steps)

    def group(self):
        """Choices that run on the same plan and nodes share a process."""
        return json.dumps(self.parallel, sort_keys=True), self.spares, self.spot_nodes

    def text(self):
        cut = ["{} {}".format(key.upper(), self.parallel[key]) for key in ("dp", "pp", "tp", "cp", "ep")
               if self.parallel.get(key, 1) > 1]
        spot = f", {self.spot_nodes} spot nodes" if self.spot_nodes else ""
        saves = f", a checkpoint every {self.interval_steps} steps" if self.interval_steps else ""
        return (f"{self.policy} with {self.spares} spares{spot}{saves}, {' x '.join(cut)}, "
                f"ZeRO-{self.parallel.get('zero', 0)}, micro-batch {self.parallel['micro_batch']}")

    def interval(self):
        """As options of a policy."""
        if self.saves_optimally:
            return {"interval": "optimal"}
        return {"interval": "fixed", "interval_steps": self.interval_steps}

    def add(self, row):
        self.finishes = self.finishes and row["finished"] == "1"
        for key in ("cost", "jct_s", "goodput"):
            self.trials[key].append(float(row[key]) if row[key] else math.inf)
        self.trials["in_time"].append(row["p_deadline"] == "1")

    def count(self):
        return len(self.trials["cost"])

    def mean(self, metric):
        return statistics.fmean(self.trials[metric])

    def worse_than(self, other, metric):
        """How much worse this choice is, relative to the other one: the paired mean and its 95 % interval."""
        sign = -1 if metric == "goodput" else 1
        scale = other.mean(metric)
        differences = [sign * (a - b) / scale for a, b in zip(self.trials[metric], other.trials[metric])]
        return mean_interval(differences)


def rows_of(options):
    """The choices of the contest that finished, from columns."""
    columns = {key: values for key, values in options.items() if isinstance(values, list)}
    return [dict(zip(columns, values)) for values in zip(*columns.values())]


def number(text):
    factors = {"k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12}
    text = str(text)
    return float(text[:-1]) * factors[text[-1]] if text[-1] in factors else float(text)


class Limits:
    def __init__(self, question):
        _, _, likely = question.get("deadline", "@").partition("@")
        self.p_deadline = float(likely.rstrip("%")) / 100 if likely else None
        budget, _, likely = str(question.get("budget", "")).partition("@")
        self.budget = number(budget) if budget else None
        self.p_budget = float(likely.rstrip("%")) / 100 if likely else None

    def margins(self, choice):
        """What is measured beyond each limit, and its 95 % interval: above 0 keeps it."""
        count = choice.count()
        if self.p_deadline is not None:
            shares = share_interval(sum(choice.trials["in_time"]), count)
            yield [share - self.p_deadline for share in shares]
        if self.p_budget is not None:
            shares = share_interval(sum(cost <= self.budget for cost in choice.trials["cost"]), count)
            yield [share - self.p_budget for share in shares]
        elif self.budget is not None:
            mean, low, high = mean_interval(choice.trials["cost"])
            yield [self.budget - mean, self.budget - high, self.budget - low]

    def kept(self, choice):
        """Whether all limits are kept: by the estimate, surely, and perhaps."""
        margins = list(self.margins(choice))
        return [choice.finishes and all(margin[which] >= 0 for margin in margins) for which in range(3)]

    def surely_kept(self, choice):
        return self.kept(choice)[1]

    def surely_broken(self, choice):
        return not self.kept(choice)[2]


def with_input(question, name, value):
    """The question with an input of the sensitivity changed; None if the input is not a key of the question."""
    if not re.fullmatch(r"(spot/|failures/[0-9]+/)?[a-z0-9_]+", name):
        return None
    changed = json.loads(json.dumps(question))
    *above, key = name.split("/")
    if above == ["spot"]:
        at = changed["spot"] if key in changed["spot"] else changed["spot"]["failures"]
    elif above:
        at = changed["failures"][int(above[1])]
    elif key in changed:
        at = changed
    else:
        at = changed["failures"][0] if isinstance(changed["failures"], list) else changed["failures"]
    if key not in at:
        return None
    at[key] = value
    return changed


# ---- The command line.

class Study:
    def __init__(self, goodput, question, folder, options):
        self.goodput, self.folder, self.options = goodput, pathlib.Path(folder), options
        result = self.folder / "plan.json"
        command = [goodput, "plan", str(question), "--json", str(result), "--out", str(self.folder / "answer"),
                   "--quiet", "--jobs", str(options.processes), "--seed", str(options.plan_seed)]
        if not options.break_even:
            command.append("--no-sensitivity")
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        self.result = json.loads(result.read_text())
        self.question = self.result["question"]
        if self.result["best"] is None:
            return
        self.scenario = json.loads((self.folder / "answer/scenario.json").read_text())
        self.metric = OBJECTIVES[self.question["objective"]]
        self.limits = Limits(self.question)
        self.best = Choice(self.result["best"])
        self.train_nodes = self.scenario["nodes"] - self.best.spares

    def failures_on(self, failures, nodes):
        models = failures if isinstance(failures, list) else [failures]
        return [model if model["model"] in NODES_OF_OTHERS else {**model, "nodes": nodes} for model in models]

    @staticmethod
    def policy_options(policy, question):
        options = json.loads(json.dumps((question.get("policies") or {}).get(policy, {})))
        for name, targets in INPUT_OPTIONS.items():
            if question.get(name) is None:
                continue
            for path, policies in targets:
                if policies and policy not in policies:
                    continue
                *above, key = path.split("/")
                at = options
                for part in above:
                    at = at.setdefault(part, {})
                at.setdefault(key, question[name])
        return options

    def scenario_of(self, choices, question):
        """A scenario for choices with the same plan and nodes; its policies are named by position."""
        first = choices[0]
        nodes = self.train_nodes + first.spares
        scenario = json.loads(json.dumps(self.scenario))
        scenario["plan"]["parallel"] = first.parallel
        scenario["nodes"] = nodes
        failures = self.failures_on(question["failures"], nodes - first.spot_nodes)
        price = {key: question[key] for key in ("usd_per_node_hour", "billing")}
        for key in ("failures", "pools", "usd_per_node_hour", "billing"):
            scenario.pop(key, None)
        if first.spot_nodes:
            spot = question["spot"]
            pools = [{"name": "reserved", "failures": failures, **price}] if nodes > first.spot_nodes else []
            pools.append({"name": "spot", "usd_per_node_hour": spot["usd_per_node_hour"], "billing": "held",
                          "failures": self.failures_on(spot["failures"], first.spot_nodes)})
            scenario["pools"] = pools
        else:
            scenario.update(failures=failures, **price)
        scenario["policies"] = {}
        for index, choice in enumerate(choices):
            options = self.policy_options(choice.policy, question)
            options.setdefault("checkpoint", {}).update(choice.interval())
            scenario["policies"][f"choice{index}"] = {"policy": choice.policy, **options}
        return scenario

    def run_simulate(self, choices, question, *options):
        with tempfile.NamedTemporaryFile("w", suffix=".json", dir=self.folder) as file:
            json.dump(self.scenario_of(choices, question), file)
            file.flush()
            command = [self.goodput, "simulate", file.name, "--jobs", "1", "--seed", str(self.options.seed), *options]
            return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout

    def simulate(self, choices, question, first_trial, trials):
        text = self.run_simulate(choices, question, "--trials-csv", "-", "--trials", str(trials), "--first-trial",
                                 str(first_trial))
        for row in csv.DictReader(io.StringIO(text)):
            choices[int(row["policy"].removeprefix("choice"))].add(row)

    def optimal_steps(self, row, question):
        """Between checkpoints, by Daly's model."""
        result = json.loads(self.run_simulate([Choice(row, saves_optimally=True)], question, "--json", "-",
                                              "--trials", "1"))
        return result["policies"]["choice0"]["checkpoint"]["interval_steps"]

    def simulate_all(self, pool, choices, first_trial, trials):
        groups = {}
        for choice in choices:
            groups.setdefault(choice.group(), []).append(choice)
        runs = [pool.submit(self.simulate, group, self.question, first_trial, trials)
                for group in groups.values()]
        for run in runs:
            run.result()

    # ---- The checks.

    def prune(self, choices, best):
        """Drops choices that cannot be the best nor dominate a row of the front."""
        rivals = [(one.mean("cost"), one.mean("jct_s")) for one in choices if self.limits.surely_kept(one)]

        def is_hopeless(choice):
            if not choice.finishes:
                return True
            cost, jct = choice.mean("cost"), choice.mean("jct_s")
            is_dominated = any(cost > (1 + CLEARLY_WORSE) * rival_cost and jct > (1 + CLEARLY_WORSE) * rival_jct
                               for rival_cost, rival_jct in rivals)
            return is_dominated and choice.worse_than(best, self.metric)[0] > CLEARLY_WORSE
        return [choice for choice in choices if not is_hopeless(choice)]

    def check(self, pool):
        if self.result["best"] is None:
            return "no answer", [self.result["lacks"]]
        problems = []
        front = [Choice(row) for row in self.result["pareto"]]
        by_key = {}
        for row in rows_of(self.result["options"]):
            choice = Choice(row)
            by_key[choice.key()] = choice
            if row.get("nodes_held", self.train_nodes + choice.spares) != self.train_nodes + choice.spares:
                problems.append(f"the contender {choice.text()} holds {row['nodes_held']} nodes")
        left_out = self.result["options"]["left_out"]
        for one in [self.best, *front]:
            if one.key() not in by_key:
                problems.append(f"an answer is not among the contenders: {one.text()}")
        best = by_key.setdefault(self.best.key(), self.best)
        front = [by_key.setdefault(one.key(), one) for one in front]
        problems += self.check_options()

        choices = list(by_key.values())
        self.simulate_all(pool, choices, 0, FIRST_TRIALS)
        kept = self.prune(choices, best)
        kept += [one for one in {id(one): one for one in [best, *front]}.values() if one not in kept]
        self.simulate_all(pool, kept, FIRST_TRIALS, self.options.trials - FIRST_TRIALS)

        if self.limits.surely_broken(best):
            problems.append(f"best breaks a limit: {best.text()}")
        gaps = [(best.worse_than(one, self.metric), one) for one in kept
                if one is not best and self.limits.surely_kept(one)]
        gap, winner = max(gaps, key=lambda pair: pair[0][0], default=((0, 0, 0), best))
        for (mean, low, high), one in gaps:
            if low > SAME:
                problems.append(f"{one.text()}: {100 * mean:.2f} % better than best "
                                f"({100 * low:.2f} to {100 * high:.2f})")
        worst_row = 0
        for row in front:
            beaten = self.beaten_by(row, kept)
            worst_row = max([worst_row, *(by for by, _ in beaten)])
            if beaten:
                by, one = max(beaten, key=lambda pair: pair[0])
                problems.append(f"pareto row {row.text()} is beaten by {100 * by:.2f} % by {one.text()}")
        checked, agree = self.check_deadline(best, front, problems)
        line = (f"{len(choices)} choices{f' ({left_out} left out)' if left_out else ''}, "
                f"{len(choices) - len(kept)} pruned after {FIRST_TRIALS} trials; best is "
                f"{100 * max(0, gap[0]):.2f} % from the brute-force best; pareto rows {len(front)}, "
                f"beaten by at most {100 * worst_row:.2f} %")
        if checked:
            line += f"; P(deadline) agrees in {agree} of {checked}"
        if self.options.break_even:
            line += "; break-evens " + self.check_break_evens(pool, problems)
        return line, problems

    def beaten_by(self, row, choices):
        """Choices that are surely better in cost or time and not worse in the other, and by how much at least."""
        beaten = []
        for one in choices:
            if one is row or not self.limits.surely_kept(one):
                continue
            (cost, surely_cost, _), (jct, surely_jct, _) = (row.worse_than(one, key) for key in ("cost", "jct_s"))
            by = max(surely_cost if jct >= 0 else 0, surely_jct if cost >= 0 else 0)
            if by > SAME:
                beaten.append((by, one))
        return beaten

    def check_deadline(self, best, front, problems):
        rows = [(self.result["best"], best), *zip(self.result["pareto"], front)]
        rows = [(row, one) for row, one in rows if self.limits.p_deadline is not None]
        agree = 0
        for row, one in rows:
            share, low, high = share_interval(sum(one.trials["in_time"]), one.count())
            planned = row["ci"]["p_deadline"]
            if overlap(planned, (low, high)):
                agree += 1
            else:
                problems.append(f"P(deadline) of {one.text()} is {share:.3f} ({low:.3f} to {high:.3f}); plan says "
                                f"{row['p_deadline']:.3f} ({planned[0]:.3f} to {planned[1]:.3f})")
        return len(rows), agree

    def check_options(self):
        """The options that `plan` prints are those that the question's inputs set."""
        problems = []
        for row in [self.result["best"], *self.result["pareto"], *self.result["ties"]]:
            want = self.policy_options(row["policy"], self.question)
            if row.get("interval_steps"):
                want.setdefault("checkpoint", {}).update(interval="fixed", interval_steps=row["interval_steps"])
            if row["options"] != want:
                problems.append(f"the options of {row['policy']} are {row['options']}, not {want}")
        return problems

    # ---- Break-evens.

    def check_break_evens(self, pool, problems):
        searches = []
        for entry in self.result["sensitivity"]:
            for at in entry["break_even"]:
                if with_input(self.question, entry["input"], at["value"]):
                    searches.append((entry, at, pool.submit(self.break_even, entry, at)))
        agree = 0
        for entry, at, search in searches:
            found = search.result()
            planned = at.get("interval") or [at["value"], at["value"]]
            if found and overlap(planned, found[1:]):
                agree += 1
            else:
                by_force = f"{found[0]:.4g} ({found[1]:.4g} to {found[2]:.4g})" if found else "none nearby"
                problems.append(f"break-even of {entry['input']}: {by_force}; plan says {at['value']:.4g} "
                                f"({planned[0]:.4g} to {planned[1]:.4g}), then {Choice(at['instead']).text()}")
        return f"{agree} of {len(searches)}"

    def break_even(self, entry, at):
        """The input value at which the rival becomes 0.5 % better within the limits, and its 95 % interval. None if
        there is none."""
        now, planned = entry["value"], at["value"]
        best = self.result["best"]
        # How far checkpoints are apart, against what is optimal.
        least = self.optimal_steps(best, self.question)
        factors = [min(self.question["intervals"], key=lambda one: abs(one * least - (best["interval_steps"] or 0))),
                   at["instead"].get("interval", 1)]
        memo = {}

        def gain(value):  # of the rival beyond 0.5 %: mean, low, high
            if value not in memo:
                question = with_input(self.question, entry["input"], value)
                pair = []
                for row, factor in zip((best, at["instead"]), factors):
                    steps = max(1, round(factor * self.optimal_steps(row, question)))
                    pair.append(Choice({**row, "interval_steps": steps}))
                    self.simulate(pair[-1:], question, 0, BREAK_EVEN_TRIALS)
                memo[value] = [difference - SAME if is_kept else -math.inf for difference, is_kept in
                               zip(pair[0].worse_than(pair[1], self.metric), self.limits.kept(pair[1]))]
            return memo[value]

        def crossing(which):
            without, with_ = now, planned * (planned / now) ** 0.5
            if gain(with_)[which] < 0:
                with_ *= planned / now
                if gain(with_)[which] < 0:
                    return None
            if gain(without)[which] > 0:
                return without
            for _ in range(BISECTIONS):
                middle = math.sqrt(without * with_)
                without, with_ = (without, middle) if gain(middle)[which] > 0 else (middle, with_)
            return math.sqrt(without * with_)

        found = [crossing(which) for which in range(3)]
        if found[0] is None:
            return None
        edges = [edge for edge in found if edge is not None]
        low, high = min(edges), max(edges)
        if found[1] is None:  # never surely better: open on the far side
            low, high = (low, math.inf) if planned > now else (0.0, high)
        return found[0], low, high


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--goodput", required=True, help="the binary")
    parser.add_argument("--trials", type=int, default=600, help="of every choice that is not pruned")
    parser.add_argument("--seed", type=int, default=1, help="of the brute-force trials")
    parser.add_argument("--plan-seed", type=int, default=0, help="of the plan")
    parser.add_argument("--processes", type=int, default=os.cpu_count(), help="that run at a time")
    parser.add_argument("--break-even", action="store_true", help="check break-evens too")
    parser.add_argument("questions", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    goodput = str(pathlib.Path(options.goodput).resolve())
    questions = options.questions or sorted(QUESTIONS.glob("*.json"))
    failed = 0
    for question in questions:
        begin = time.monotonic()
        with tempfile.TemporaryDirectory() as folder, \
                concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
            line, problems = Study(goodput, question, folder, options).check(pool)
        failed += bool(problems)
        print(f"{question.stem}: {'FAILED' if problems else 'ok'}: {line}; {time.monotonic() - begin:.0f} s")
        for problem in problems:
            print(f"  {problem}")
        sys.stdout.flush()
    print(f"{len(questions) - failed} of {len(questions)} questions pass, {options.trials} trials of every choice")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
