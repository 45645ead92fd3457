"""Restart from checkpoints, with hot spares if wanted: a policy for `goodput simulate --policy-command`.

    goodput simulate SCENARIO --policy-command mine='python3 restart_policy.py'

Any loss of a node in use stops the job, which comes back from its last checkpoint. Options, under /policies/NAME of the
scenario (all of them optional):

    restart       {"detect_s": 15, "startup_s": 60}
    checkpoint    as for the policy `checkpoint`: interval, interval_steps, write_gb_per_s, ...
    spares        0: the job trains on as many nodes as it can use, with exactly the results of `checkpoint`.
                  n > 0: n nodes stay idle with their processes running; one of them replaces a lost node without a
                  program startup
    swap_s        15: seconds to form new process groups with a spare, instead of a startup
"""

from bisect import insort

from goodput_policy import AT_STEP_END, IGNORE, INTERRUPT, Course, Policy, Refused, nanoseconds, run


class RestartPolicy(Policy):
    metrics = ("my_swaps",)
    known_options = ("restart", "checkpoint", "spares", "swap_s")

    @classmethod
    def check(cls, job, options):
        for key in options:
            if key not in cls.known_options:
                raise Refused(f"has no option {key}; its options are {', '.join(cls.known_options)}")
        if options.get("spares", 0) >= job["nodes"]:
            raise Refused(f"keeps {options['spares']} of {job['nodes']} nodes idle, which leaves no node to train")
        return []

    def __init__(self, job, options, host):
        super().__init__(job, options, host)
        restart = options.get("restart", {})
        self.detect_ns = nanoseconds(restart.get("detect_s", 15))
        self.startup_ns = nanoseconds(restart.get("startup_s", 60))
        self.swap_ns = nanoseconds(options.get("swap_s", 15))
        self.settings = options.get("checkpoint", {})
        self.spares = options.get("spares", 0)
        self.used = []         # nodes that train, ascending
        self.gone = set()      # of those: lost since, some perhaps back with nothing
        self.lost_at_ns = None  # the last of them
        self.has_begun = False
        self.is_waiting = False
        self.time = None       # of the steps at hand
        self.swaps = 0

    def on_change(self, lost, joined, changed):
        if self.is_waiting:
            return INTERRUPT if self.wanted() > 0 else IGNORE
        lost_of_ours = [node for node in lost if node in self.used]
        if lost_of_ours:
            self.gone.update(lost)
            self.lost_at_ns = self.now_ns
            return INTERRUPT
        return AT_STEP_END if any(node in self.used for node in changed) else IGNORE

    def decide(self, job):
        restarts = self.lost_at_ns is not None or self.is_waiting or job.was_interrupted or not self.has_begun
        return self.restart(job) if restarts else self.carry_on(job)

    def pace(self, step):
        return self.step_time(len(self.used), step, self.slowest(self.used))

    def end_run(self, steps):
        return {"my_swaps": self.swaps}

    # ---- What it does.

    def wanted(self):
        """The number of available nodes that train."""
        most = self.usable_nodes(self.job["nodes"] - self.spares)
        return min(self.usable_nodes(len(self.members)), most)

    def carry_on(self, job):
        """Continues on the same nodes after some of them changed speed."""
        return self.train(job, "here", "none", [])

    def restart(self, job):
        count = self.wanted()
        if count == 0:
            self.used, self.gone, self.is_waiting = [], set(), True
            return Course.wait(f"needs {self.fewest()} nodes", resume="storage")
        is_swap = self.spares > 0 and not self.is_waiting
        self.used = self.chosen(count)
        if self.has_begun:
            phases = self.restart_phases(job, is_swap)
        else:
            phases = [("program_startup", self.startup_ns)] if self.job["start"] == "cold" else []
        cause = "restart" if self.has_begun else "start"
        self.swaps += self.has_begun and is_swap
        self.has_begun, self.is_waiting, self.lost_at_ns = True, False, None
        self.gone = set()
        return self.train(job, "storage", cause, phases)

    def chosen(self, count):
        """The nodes to use: first those already in use, then others by id."""
        left = [node for node in self.used if node in self.members and node not in self.gone][:count]
        kept = set(left)
        for node in sorted(self.members):
            if len(left) == count:
                break
            if node not in kept:
                insort(left, node)
        return left

    def restart_phases(self, job, is_swap):
        phases = []
        if self.lost_at_ns is not None:
            phases.append(("infrastructure_recovery_from_disruption",
                           self.lost_at_ns + self.detect_ns - job.now_ns))
        phases.append(("elastic_reinitialization", self.swap_ns) if is_swap
                      else ("program_startup", self.startup_ns))
        phases.append(("checkpoint_restore", self.checkpoint(len(self.used), self.settings)["restore_ns"]))
        return phases

    def train(self, job, resume, cause, phases):
        step, slowest = job.step_from(resume), self.slowest(self.used)
        restart_ns = self.detect_ns + (self.swap_ns if self.spares > 0 else self.startup_ns)
        self.time = self.step_time(len(self.used), step, slowest)
        saves = self.checkpoint(len(self.used), self.settings, 0 if self.time.until is None else step, slowest,
                                restart_ns)
        return Course.train(self.used, self.time, cause=cause, resume=resume, phases=phases,
                            checkpoints={"storage": saves["rule"]})

    def fewest(self):
        nodes = 1
        while nodes <= self.job["nodes"] and min(self.usable_nodes(nodes),
                                                 self.usable_nodes(self.job["nodes"] - self.spares)) == 0:
            nodes += 1
        return nodes


if __name__ == "__main__":
    run(RestartPolicy)
