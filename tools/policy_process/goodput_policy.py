"""Recovery policies for `goodput simulate --policy-command NAME='python3 mine.py'`, in a file of your own.

    from goodput_policy import Course, INTERRUPT, IGNORE, Policy, run

    class Mine(Policy):
        def on_change(self, lost, joined, changed):
            return INTERRUPT if self.uses(lost) or not self.nodes else IGNORE

        def decide(self, job):
            ...
            return Course.train(nodes, step, phases=[("program_startup", 60 * SECOND)], cause="restart")

    if __name__ == "__main__":
        run(Mine)

restart_policy.py in this folder is a complete example. Copy both files next to yours, or add this folder to PYTHONPATH.
Needs only the standard library of Python 3.8 or newer. docs/formats/policy-process.md describes the protocol.

All times are whole nanoseconds of the simulated clock. A run must not depend on earlier runs: every run has its
own object, and all randomness comes from Policy.random(), which draws the same numbers in the k-th trial of every
policy. print() writes to standard error; if something fails, goodput shows the last line of it.
"""

import copy
import json
import sys

PROTOCOL = 1
SECOND = 1_000_000_000

# Answers to on_change() and on_wake().
IGNORE = "ignore"            # goes on with what it does
AT_STEP_END = "at_step_end"  # decide() once the step at hand is done, or before training starts
INTERRUPT = "interrupt"      # decide() now; the step at hand is lost


def nanoseconds(seconds):
    """Converts seconds from the options to the nearest nanosecond, as goodput does."""
    return round(seconds * 1e9)


class Refused(Exception):
    """Raise this in check() with the reason why the policy cannot run the job."""


class JobState:
    """The state of the job when decide() is called."""

    def __init__(self, message):
        self.now_ns = message["now_ns"]
        self.is_training = message["is_training"]
        self.step = message["step"]                        # steps done that count so far
        self.memory_step = message["checkpoints"]["memory"]    # of those, what each level of checkpoints holds
        self.storage_step = message["checkpoints"]["storage"]
        self.was_interrupted = message["was_interrupted"]  # the phases of the last course did not come to an end

    def step_from(self, resume):
        return {"here": self.step, "memory": self.memory_step, "storage": self.storage_step}[resume]


class StepTime:
    """The duration of steps on a number of nodes, valid up to step `until` (None: forever)."""

    def __init__(self, answer):
        self.step_ns = answer["step_ns"]
        self.forward_backward_ns = answer["forward_backward_ns"]
        self.samples = answer["samples"]  # that a step counts
        self.until = answer["until"]


class Course(dict):
    """What the job does next: train(), wait() or give_up()."""

    @classmethod
    def train(cls, nodes, step, *, cause="none", resume="here", phases=(), checkpoints=None, saves=False,
              decide_at_step=None):
        """`nodes`: ids, ascending. `step`: the StepTime of the first steps. `phases`: (bucket, ns) before training
        continues, at most 8; phases of 0 ns are dropped. `resume`: from the state "here", in "memory" or in "storage".
        `checkpoints`: {"storage": {"interval": steps, "stall_ns": ns, "lag_ns": ns}}."""
        return cls(kind="train", cause=cause, nodes=nodes, samples_per_step=step.samples, saves=saves,
                   phases=[{"bucket": bucket, "ns": ns} for bucket, ns in phases if ns > 0],
                   checkpoints=checkpoints or {}, decide_at_step=decide_at_step,
                   pace={"step_ns": step.step_ns, "until": step.until}, **{"from": resume})

    @classmethod
    def wait(cls, reason, resume="here"):
        """Waits for a change of the nodes; no node works. `reason` completes "the job ...": "needs 4 nodes"."""
        return cls(kind="wait", reason=reason, **{"from": resume})

    @classmethod
    def give_up(cls, reason):
        """Stops the job for good."""
        return cls(kind="give_up", reason=reason)


class Policy:
    """The calls that goodput makes, in order, and the questions that a policy can ask.

    `job` describes the job (model, nodes, plan_nodes, global_batch, ...), as in "hello". `options` is the object under
    /policies/NAME in the scenario. `members` maps the available nodes to their speeds; 1.0 is healthy."""

    metrics = ()  # names of the policy's own metrics, which end_run() returns: my_swaps, ...

    @classmethod
    def check(cls, job, options):
        """Called once, before any run. Raises Refused, or returns a list of warnings about the job."""
        return []

    def __init__(self, job, options, host):
        self.job = job
        self.options = options
        self.members = {}
        self.now_ns = 0
        self.is_training = False
        self.wake_at_ns = None  # when to call on_wake(); None: never. It stays set until it is changed
        self._host = host

    def on_change(self, lost, joined, changed):
        """Nodes were lost, joined, or changed speed; `members` is already updated. A node that came back at the moment
        it was lost is in both lists, and has lost its state."""
        raise NotImplementedError

    def on_wake(self):
        """The time `wake_at_ns` has been reached; it is None again."""
        return IGNORE

    def decide(self, job):
        """Returns the next Course. Called at the start, after INTERRUPT or AT_STEP_END, and at the end of step
        `decide_at_step`."""
        raise NotImplementedError

    def pace(self, step):
        """Returns the StepTime of the steps from `step` on. Called when the one given to Course.train() has expired."""
        raise NotImplementedError

    def end_run(self, steps):
        """The run is over with `steps` steps completed. Returns {name: value} for `metrics`."""
        return {}

    # ---- Questions to goodput. A question always has the same answer, so it is asked only once. The returned
    # value is a copy: a policy may change it.

    def usable_nodes(self, nodes):
        """How many of `nodes` nodes the plan's replicas can use; 0 if there are too few."""
        return self._host.known({"ask": "usable_nodes", "nodes": nodes})["nodes"]

    def step_time(self, nodes, step, slowest=1.0, overhead_ns=0):
        """The StepTime from step `step` on, for a number of nodes that usable_nodes() returned."""
        return self._host.step_time(nodes, step, {"slowest": slowest, "overhead_ns": overhead_ns})

    def checkpoint(self, nodes, settings, step=0, slowest=1.0, restart_ns=0, overhead_ns=0):
        """Full checkpoints in storage: {"bytes", "restore_ns", "save_ns", "rule"}. `settings`: as the option
        "checkpoint" of the restart policies. Pass `rule` to `checkpoints` of Course.train(). `restart_ns`: from a
        loss until a checkpoint is read, for intervals that are derived from failures."""
        return self._host.known({"ask": "checkpoint", "settings": settings, "nodes": nodes, "step": step,
                                 "slowest": slowest, "restart_ns": restart_ns, "overhead_ns": overhead_ns})

    def mtbf_s(self, nodes):
        """Mean time between losses among `nodes` nodes: inf if there will be none, None if it is unknown."""
        answer = self._host.known({"ask": "mtbf", "nodes": nodes})
        return float("inf") if answer["never"] else answer["mtbf_s"]

    def random(self, stream, count=1, id=0, draw="uniform", **parameters):
        """The next numbers of a random stream of this trial. `draw`: "uniform" in [0, 1), "below" (bound=),
        "exponential" (rate=), "normal" (mean=, deviation=)."""
        return self._host.ask({"ask": "random", "stream": stream, "id": id, "count": count, "draw": draw,
                               **parameters})["values"]

    # ---- Short cuts.

    def slowest(self, nodes):
        return min((self.members[node] for node in nodes), default=1.0)


class Host:
    """The goodput process, connected to standard input and output."""

    MOST_KNOWN = 10_000  # max number of cached answers

    def __init__(self, lines, out):
        self.lines = lines
        self.out = out
        self.answers = {}

    def read(self):
        line = self.lines.readline()
        return json.loads(line) if line else None

    def write(self, message):
        self.out.write(json.dumps(message, separators=(",", ":"), allow_nan=False))
        self.out.write("\n")
        self.out.flush()

    def ask(self, question):
        self.write(question)
        answer = self.read()
        if answer is None:
            raise SystemExit(0)
        return answer

    def remember(self, key, answer):
        if len(self.answers) >= self.MOST_KNOWN:
            self.answers.clear()
        self.answers[key] = answer
        return answer

    def known(self, question):
        key = json.dumps(question, sort_keys=True)
        answer = self.answers[key] if key in self.answers else self.remember(key, self.ask(question))
        return copy.deepcopy(answer)

    def step_time(self, nodes, step, besides):
        key = (nodes, *besides.values())
        first, time = self.answers.get(key, (0, None))
        if time is None or step < first or (time.until is not None and step >= time.until):
            time = StepTime(self.ask({"ask": "step_time", "nodes": nodes, "step": step, **besides}))
            self.remember(key, (step, time))
        return copy.copy(time)  # the policy may change what it gets


class Calls:
    """Translates protocol messages to calls of a policy."""

    def __init__(self, policy_class, host):
        self.policy_class = policy_class
        self.host = host
        self.policy = None  # of the run

    def hello(self, message):
        self.job, self.options = message["job"], message["options"]
        answer = {"protocol": PROTOCOL, "metrics": list(self.policy_class.metrics)}
        try:
            answer["warnings"] = list(self.policy_class.check(self.job, self.options))
        except Refused as reason:
            answer["refuse"] = str(reason)
        return answer

    def start_run(self, message):
        self.policy = self.policy_class(self.job, self.options, self.host)
        return {}

    def see(self, message):
        policy = self.policy
        policy.now_ns, policy.is_training = message["now_ns"], message["is_training"]
        for node in message.get("lost", ()):
            del policy.members[node]
        for node in message.get("members", message.get("joined", ())):
            policy.members[node] = 1.0
        policy.members.update(message.get("speeds", ()))

    def on_change(self, message):
        self.see(message)
        joined = message["joined"]
        changed = [node for node, _ in message["speeds"] if node not in joined]
        response = self.policy.on_change(message["lost"], joined, changed)
        return {"response": response, "wake_at_ns": self.policy.wake_at_ns}

    def on_wake(self, message):
        self.see(message)
        self.policy.wake_at_ns = None
        return {"response": self.policy.on_wake(), "wake_at_ns": self.policy.wake_at_ns}

    def decide(self, message):
        self.see(message)
        return {**self.policy.decide(JobState(message)), "wake_at_ns": self.policy.wake_at_ns}

    def pace(self, message):
        time = self.policy.pace(message["step"])
        return {"step_ns": time.step_ns, "until": time.until}

    def end_run(self, message):
        return {"metrics": self.policy.end_run(message["steps"])}


def run(policy_class):
    """Answers calls until goodput closes the connection."""
    host = Host(sys.stdin, sys.stdout)
    sys.stdout = sys.stderr  # so that print() of a policy does not end up in an answer
    calls = Calls(policy_class, host)
    known = ("hello", "start_run", "on_change", "on_wake", "decide", "pace", "end_run")
    while True:
        message = host.read()
        if message is None:
            return
        call = message["call"]
        if call not in known:
            raise ValueError(f"unknown call {call}: this file supports protocol {PROTOCOL} only")
        host.write({"answer": call, **getattr(calls, call)(message)})
