#!/usr/bin/env python3
"""What `goodput monitor` takes while jobs run: CPU, memory, how late results and pages are. Figures of docs/performance.md.

    monitor_cost.py --goodput PROGRAM --load monitor_load [--folder FOLDER] [--steps N] [large|many|day ...]

large: one job of 10,240 GPUs, many: 20 jobs of 512 GPUs, a step every 10 s; after the first half of the steps pages are
fetched besides. day: 8,640 steps of a small job, as fast as the monitor takes them. Logs go to FOLDER (a file system in
memory is best), a GB at most. No test: what it prints depends on the machine.
"""

import argparse
import os
import re
import shutil
import signal
import statistics
import subprocess
import tempfile
import threading
import time
import urllib.request
from pathlib import Path

EVERY_S = 10
DAY_STEPS = 8640
WARM_STEPS = 2        # of which nothing is measured
AHEAD = 4             # steps of a day that are written and not yet analysed
PAGES_A_SECOND = 20
TICKS = os.sysconf("SC_CLK_TCK")


def quantile(values, share):
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else float("nan")


class Process:
    """CPU and memory of a process."""

    def __init__(self, pid):
        self.folder = Path("/proc") / str(pid)

    def cpu_s(self):
        fields = (self.folder / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def memory_mib(self, key):
        """VmRSS: now; VmHWM: the most so far."""
        return int(re.search(rf"{key}:\s+(\d+)", (self.folder / "status").read_text())[1]) / 1024


class Monitor:
    """A running one, and when it told of which step."""

    def __init__(self, goodput, folders, database):
        command = [goodput, "monitor", *folders, "--db", database, "--port", "0"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.usage = Process(self.process.pid)
        self.told = {}    # (job, step) -> Unix time
        self.latest = {}  # job -> (run, step)
        self.lines = []
        self.changed = threading.Condition()
        self.address = None
        threading.Thread(target=self.read_notes, daemon=True).start()
        threading.Thread(target=self.read_steps, daemon=True).start()
        with self.changed:
            if not self.changed.wait_for(lambda: self.address, timeout=30):
                raise RuntimeError("the monitor serves no pages")

    def read_notes(self):
        for line in self.process.stderr:
            found = re.search(r"pages at (http://\S+)", line)
            with self.changed:
                if found:
                    self.address = found[1]
                else:
                    self.lines.append(line.rstrip())
                self.changed.notify_all()

    def read_steps(self):
        for line in self.process.stdout:
            found = re.match(r"(\S+) run (\d+) step (\d+): ", line)
            with self.changed:
                if found:
                    self.told[(found[1], int(found[3]))] = time.time()
                    self.latest[found[1]] = (int(found[2]), int(found[3]))
                self.changed.notify_all()

    def wait_for_steps(self, count, timeout):
        with self.changed:
            return self.changed.wait_for(lambda: len(self.told) >= count, timeout=timeout)

    def get(self, path):
        with urllib.request.urlopen(self.address.rstrip("/") + path, timeout=30) as answer:
            return answer.read().decode()

    def end(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=120)


class Load:
    """A running generator, and when which step was written."""

    def __init__(self, program, arguments):
        self.process = subprocess.Popen([program, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.written = {}  # (job, step) -> Unix time
        threading.Thread(target=self.read, daemon=True).start()

    def read(self):
        for line in self.process.stdout:
            job, step, at = line.split()
            self.written[(job, int(step))] = float(at)

    def write(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()


class Pages:
    """Fetches pages, so many a second, while it is on."""

    def __init__(self, monitor, job):
        self.monitor, self.job = monitor, job
        self.took_s, self.failed = {}, []
        self.is_on = True
        self.thread = threading.Thread(target=self.fetch, daemon=True)
        self.thread.start()

    def paths(self):
        """What a page is, and where it is now."""
        run, step = self.monitor.latest[self.job]
        job = f"/jobs/{self.job}"
        return (("all jobs", "/"), ("job", job), ("step", f"{job}/steps/{run}/{step}"), ("worker", f"{job}/workers/1/1"),
                ("metrics", "/metrics"), ("API: a job", f"/api/v1{job}"))

    def fetch(self):
        count, begin = 0, time.monotonic()
        while self.is_on:
            paths = self.paths()
            name, path = paths[count % len(paths)]
            start = time.monotonic()
            try:
                self.monitor.get(path)
                self.took_s.setdefault(name, []).append(time.monotonic() - start)
            except OSError as problem:
                self.failed.append(f"{path}: {problem}")
            count += 1
            time.sleep(max(0.0, begin + count / PAGES_A_SECOND - time.monotonic()))

    def end(self):
        self.is_on = False
        self.thread.join()


def make_folder(load, case, folder, steps, every_s):
    """The generator, once the folders of its jobs are there."""
    running = Load(load, (folder, case, steps, every_s))
    jobs = 20 if case == "many" else 1
    while len(list(folder.glob("job*/meta.yaml"))) < jobs:
        time.sleep(0.05)
    return running, sorted(folder.glob("job*"))


def share_of(begin, end):
    return (end[1] - begin[1]) / (end[0] - begin[0])


def run_by_the_clock(options, case, folder):
    load, folders = make_folder(options.load, case, folder / "logs", options.steps, EVERY_S)
    monitor = Monitor(options.goodput, folders, folder / "monitor.sqlite")
    marks = []  # (wall, CPU) after the steps to warm up, half of the others, all
    pages = None
    half = (options.steps + WARM_STEPS) // 2
    for count in (WARM_STEPS, half, options.steps):
        if not monitor.wait_for_steps(count * len(folders), timeout=EVERY_S * (count + 6)):
            print(f"only {len(monitor.told)} of {count * len(folders)} steps were analysed")
        marks.append((time.monotonic(), monitor.usage.cpu_s()))
        if count == half:
            pages = Pages(monitor, folders[0].name)
    pages.end()
    all_late = {key: at - load.written[key] for key, at in monitor.told.items() if key in load.written}
    first_late = {job: min((step, late) for (of, step), late in all_late.items() if of == job) for job, _ in all_late}
    latest = sorted(((late, *key) for key, late in all_late.items() if key[1] != first_late[key[0]][0]), reverse=True)
    late = [seconds for seconds, _, _ in latest]
    took = [seconds for all_of_path in pages.took_s.values() for seconds in all_of_path]
    print(f"{case}: {len(monitor.told)} steps told of, {options.steps * len(folders)} written")
    print(f"  CPU, of one core           {share_of(marks[0], marks[1]):7.1%}")
    print(f"  ... while pages are read   {share_of(marks[1], marks[2]):7.1%}")
    print(f"  memory, most               {monitor.usage.memory_mib('VmHWM'):7.0f} MiB")
    print(f"  result after its last line {quantile(late, 0.5):7.2f} s median, {quantile(late, 0.99):.2f} s p99, {len(late)} steps")
    print("  ... latest of these        " + ", ".join(f"{seconds:.2f} s ({job} step {step})" for seconds, job, step in latest[:4]))
    print(f"  ... of first steps         {statistics.median(late for _, late in first_late.values()):7.2f} s median: they wait for the second")
    print(f"  page                       {1000 * quantile(took, 0.5):7.1f} ms median, {1000 * quantile(took, 0.99):.1f} ms p99, "
          f"{len(took)} read, {len(pages.failed)} failed")
    for name, seconds in pages.took_s.items():
        print(f"    {name:24} {1000 * quantile(seconds, 0.5):7.1f} ms median, {1000 * quantile(seconds, 0.99):.1f} ms p99")
    report_end(monitor, pages.failed)
    load.process.wait(timeout=60)


def run_a_day(options, folder):
    load, folders = make_folder(options.load, "small", folder / "logs", DAY_STEPS, 0)
    monitor = Monitor(options.goodput, folders, folder / "monitor.sqlite")
    memory, begin = [], time.monotonic()
    load.write(AHEAD)
    for count in range(1, DAY_STEPS + 1):
        if not monitor.wait_for_steps(count, timeout=60):
            print(f"only {len(monitor.told)} steps were analysed")
            break
        if count + AHEAD <= DAY_STEPS:
            load.write(1)
        if count % 36 == 0:
            memory.append(monitor.usage.memory_mib("VmRSS"))
    took_s = time.monotonic() - begin
    hours = [statistics.mean(memory[at:at + 10]) for at in range(0, len(memory) - 9, 10)]
    print(f"day: {len(monitor.told)} steps in {took_s:.0f} s, {monitor.usage.cpu_s():.0f} s of CPU, database "
          f"{(folder / 'monitor.sqlite').stat().st_size / 2**20:.1f} MiB")
    print("  memory by hour, MiB: " + " ".join(f"{hour:.1f}" for hour in hours))
    for first in (1, 2):
        kept = hours[first:]
        if kept:
            print(f"  from hour {first} on: {min(kept):.1f} to {max(kept):.1f} MiB, {max(kept) / min(kept) - 1:.1%}")
    report_end(monitor, [])


def report_end(monitor, failed):
    for line in monitor.get("/metrics").splitlines():
        trouble = re.match(r"goodput_monitor_job_(steps_total|behind)", line) and "analysed" not in line
        if trouble and not line.endswith(" 0"):
            print(f"  {line}")
    for line in (*failed[:5], *monitor.lines[:10]):
        print(f"  {line}")
    monitor.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--goodput", type=Path, required=True)
    parser.add_argument("--load", type=Path, required=True)
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--steps", type=int, default=22)
    parser.add_argument("cases", nargs="*", metavar="CASE", default=("large", "many", "day"))
    options = parser.parse_args()
    for case in options.cases:
        folder = Path(tempfile.mkdtemp(dir=options.folder, prefix="goodput-load-"))
        try:
            (folder / "logs").mkdir()
            if case == "day":
                run_a_day(options, folder)
            else:
                run_by_the_clock(options, case, folder)
        finally:
            shutil.rmtree(folder)


if __name__ == "__main__":
    main()
