"""A job whose logs grow while a monitor follows them: what tests of its pages look at.

    with MonitoredJob(arguments, folder, token=TOKEN) as monitor:
        monitor.url, monitor.job
        monitor.make_news()

With a token the monitor lets people act on incidents, and everything that is asked of it has to bring the token.

Worker dp 1 stage 1 of 4 x 2 is slow from the fourth step on; LARGE_PLAN has 128 x 64. The rows are those of `synth`; all but
the last steps are there from the start.
"""

import base64
import json
import os
import re
import subprocess
import time
import urllib.request
from urllib.parse import quote

STEPS, HELD_BACK = 12, 4
PLAN = {"model": "gpt-s", "cluster": "dgx-a100",
        "parallel": {"dp": 4, "pp": 2, "tp": 1, "micro_batch": 4, "global_batch": 64, "sequence_length": 2048,
                     "overlap_p2p": False},
        "stragglers": [{"kind": "worker-fault", "dp": 1, "stage": 1, "factor": 1.6, "from_step": 3}]}
LARGE_STEPS = 7
LARGE_PLAN = {**PLAN, "model": "llama3-70b", "cluster": "dgx-h100",
              "parallel": {"dp": 128, "pp": 64, "tp": 1, "micro_batch": 1, "global_batch": 256, "sequence_length": 2048,
                           "overlap_p2p": False, "layers_per_stage": [2] * 16 + [1] * 48}}


class MonitoredJob:
    def __init__(self, arguments, folder, plan=None, steps=STEPS, token=None):
        self.job, self.folder, self.goodput = arguments.job, folder, arguments.goodput
        self.plan, self.steps = plan or PLAN, steps
        self.url = arguments.url
        self.token = token if not self.url else None
        self.process = None

    def __enter__(self):
        if not self.url:
            self.goodput = os.path.abspath(self.goodput)
            self.start()
        return self

    def __exit__(self, *_):
        if self.process:
            self.process.terminate()
            self.process.wait(timeout=30)
            self.process.stderr.close()

    def start(self):
        (self.folder / "plan.json").write_text(json.dumps(self.plan))
        subprocess.run([self.goodput, "synth", "plan.json", "--out", "rows.csv", "--steps", str(self.steps), "--quiet"],
                       cwd=self.folder, check=True)
        head, *rows = (self.folder / "rows.csv").read_text().splitlines(keepends=True)
        column = head.strip().split(",").index("step")
        steps = sorted({int(row.split(",")[column]) for row in rows})
        self.later = [[row for row in rows if int(row.split(",")[column]) == step] for step in steps[-HELD_BACK:]]
        logs = self.folder / self.job
        logs.mkdir()
        self.log = logs / "rows.csv"
        kept = set(steps[:-HELD_BACK])
        self.log.write_text(head + "".join(row for row in rows if int(row.split(",")[column]) in kept))
        access = []
        if self.token:
            path = self.folder / "token"
            path.touch(mode=0o600)
            path.write_text(self.token)
            access = ["--token-file", str(path)]
        self.process = subprocess.Popen([self.goodput, "monitor", str(logs), "--db", "monitor.db", "--port", "0",
                                         "--gpu-hour-usd", "2", "--grace", "2", *access],
                                        cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            found = re.search(r"http://[0-9.]+:[0-9]+", line)
            if found:
                self.url = found[0]
                break
        else:
            raise RuntimeError("the monitor ended before it served anything")
        self.wait_until(lambda: self.analysed() >= len(kept) - 1, "the first steps to be analysed")
        if self.steps == STEPS:
            self.wait_until(lambda: self.incident(), "an incident")

    def authorization(self, user):
        """What a browser sends for this user, if the monitor asks for the token."""
        if not self.token:
            return {}
        return {"Authorization": "Basic " + base64.b64encode(f"{user}:{self.token}".encode()).decode()}

    def get(self, path):
        request = urllib.request.Request(self.url + path, headers=self.authorization("test"))
        with urllib.request.urlopen(request, timeout=20) as answer:
            return json.load(answer)

    def incident(self):
        """The newest incident of the job, or None."""
        return next(iter(self.get(f"/api/v1/incidents?job={quote(self.job)}&limit=1")["incidents"]), None)

    def analysed(self):
        return sum(job["steps"]["analysed"] for job in self.get("/api/v1/jobs")["jobs"] if job["name"] == self.job)

    def last_step(self):
        return self.get(f"/api/v1/jobs/{quote(self.job)}")["job"]["latest_analysed"]["step"]

    def make_news(self):
        """Another step. (A server that was there before makes news by itself.)"""
        if self.process and self.later:
            with open(self.log, "a", encoding="ascii") as log:
                log.writelines(self.later.pop(0))

    @staticmethod
    def wait_until(condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                raise RuntimeError(f"waited {seconds} s for {what}")
            time.sleep(0.1)
