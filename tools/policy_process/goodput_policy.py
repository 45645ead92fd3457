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

restart_policy.py beside this file is a whole one. Put both files where yours is, or name this folder in PYTHONPATH.
Standard library only; Python 3.8 or newer. The lines that are exchanged: docs/formats/policy-process.md.

All times are whole nanoseconds of the simulated clock. A run must not depend on those before it: every run has an
object of its own, and all randomness comes from Policy.random(), which draws the same numbers in the k-th trial of
every policy. print() goes to standard error, of which goodput shows the last line when something fails.
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
    """Of a number of seconds in the options: the nearest nanosecond, as goodput reads its own."""
    return round(seconds * 1e9)


class Refused(Exception):
    """Raise it in check(): why the policy cannot run this job."""


class JobState:
    """Where the job stands when decide() is called."""

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
    """What steps take on so many nodes, up to step `until` (None: for ever)."""

    def __init__(self, answer):
        self.step_ns = answer["step_ns"]
        self.forward_backward_ns = answer["forward_backward_ns"]
        self.samples = answer["samples"]  # that a step counts
        self.until = answer["until"]


class Course(dict):
    """What the job does from now on: train(), wait() or give_up()."""

    @classmethod
    def train(cls, nodes, step, *, cause="none", resume="here", phases=(), checkpoints=None, saves=False,
              decide_at_step=None):
        """`nodes`: ids, ascending. `step`: the StepTime of the first steps. `phases`: (bucket, ns) before training
        goes on, 8 at most; those of 0 ns are left out. `resume`: from the state "here", in "memory" or in "storage".
        `checkpoints`: {"storage": {"interval": steps, "stall_ns": ns, "lag_ns": ns}}."""
        return cls(kind="train", cause=cause, nodes=nodes, samples_per_step=step.samples, saves=saves,
                   phases=[{"bucket": bucket, "ns": ns} for bucket, ns in phases if ns > 0],
                   checkpoints=checkpoints or {}, decide_at_step=decide_at_step,
                   pace={"step_ns": step.step_ns, "until": step.until}, **{"from": resume})

    @classmethod
    def wait(cls, reason, resume="here"):
        """For other nodes; nobody works. `reason` follows "the job": "needs 4 nodes"."""
        return cls(kind="wait", reason=reason, **{"from": resume})

    @classmethod
    def give_up(cls, reason):
        """For ever."""
        return cls(kind="give_up", reason=reason)


class Policy:
    """The calls that goodput makes, in the order in which it makes them, and what can be asked of it.

    `job` is what "hello" says of the job (model, nodes, plan_nodes, global_batch, ...), `options` what the scenario
    has under /policies/NAME. `members` are the nodes that are there, with their speeds: 1.0 is healthy."""

    metrics = ()  # names of figures of its own, which end_run() returns: my_swaps, ...

    @classmethod
    def check(cls, job, options):
        """Once, before any run. Raises Refused, or returns warnings about the job."""
        return []

    def __init__(self, job, options, host):
        self.job = job
        self.options = options
        self.members = {}
        self.now_ns = 0
        self.is_training = False
        self.wake_at_ns = None  # when on_wake() is to be called; None: never. It stays until it is changed
        self._host = host

    def on_change(self, lost, joined, changed):
        """Nodes were lost, joined, or changed speed; `members` knows already. A node that came back at the moment it
        was lost is in both lists, and holds nothing."""
        raise NotImplementedError

    def on_wake(self):
        """The time has come that `wake_at_ns` says, which is None again."""
        return IGNORE

    def decide(self, job):
        """What to do now: at the start, after INTERRUPT and AT_STEP_END, and at the end of `decide_at_step`."""
        raise NotImplementedError

    def pace(self, step):
        """The StepTime of the steps from `step` on; asked where what Course.train() was given has ended."""
        raise NotImplementedError

    def end_run(self, steps):
        """The run is over, and so many steps count. Returns {name: value} of `metrics`."""
        return {}

    # ---- What can be asked. The same question always has the same answer, so it is asked once. What is
    # returned is a copy: a policy may change it.

    def usable_nodes(self, nodes):
        """How many of so many nodes the plan's replicas use; 0: they are too few."""
        return self._host.known({"ask": "usable_nodes", "nodes": nodes})["nodes"]

    def step_time(self, nodes, step, slowest=1.0, overhead_ns=0):
        """StepTime from step `step` on, of a number of nodes that usable_nodes() returns."""
        return self._host.step_time(nodes, step, {"slowest": slowest, "overhead_ns": overhead_ns})

    def checkpoint(self, nodes, settings, step=0, slowest=1.0, restart_ns=0, overhead_ns=0):
        """Of whole checkpoints in storage: {"bytes", "restore_ns", "save_ns", "rule"}. `settings` as "checkpoint" of
        the policies that restart; `rule` goes into `checkpoints` of Course.train(). `restart_ns`: from a loss until
        a checkpoint is read, for intervals that follow from failures."""
        return self._host.known({"ask": "checkpoint", "settings": settings, "nodes": nodes, "step": step,
                                 "slowest": slowest, "restart_ns": restart_ns, "overhead_ns": overhead_ns})

    def mtbf_s(self, nodes):
        """Mean time between losses of so many nodes: inf where none is to come, None where nobody knows."""
        answer = self._host.known({"ask": "mtbf", "nodes": nodes})
        return float("inf") if answer["never"] else answer["mtbf_s"]

    def random(self, stream, count=1, id=0, draw="uniform", **parameters):
        """The next numbers of a stream of this trial. `draw`: "uniform" in [0, 1), "below" (bound=), "exponential"
        (rate=), "normal" (mean=, deviation=)."""
        return self._host.ask({"ask": "random", "stream": stream, "id": id, "count": count, "draw": draw,
                               **parameters})["values"]

    # ---- Short cuts.

    def slowest(self, nodes):
        return min((self.members[node] for node in nodes), default=1.0)


class Host:
    """goodput at the other end of standard input and output."""

    MOST_KNOWN = 10_000  # answers that are remembered

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
    """Turns lines into calls of a policy."""

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
    """Answers calls until goodput has no more of them."""
    host = Host(sys.stdin, sys.stdout)
    sys.stdout = sys.stderr  # print() of a policy is no answer
    calls = Calls(policy_class, host)
    known = ("hello", "start_run", "on_change", "on_wake", "decide", "pace", "end_run")
    while True:
        message = host.read()
        if message is None:
            return
        call = message["call"]
        if call not in known:
            raise ValueError(f"goodput calls {call}, which protocol {PROTOCOL} does not have")
        host.write({"answer": call, **getattr(calls, call)(message)})
