#!/usr/bin/env python3
"""Runs every command of the pages: what it prints has to be what stands there.

    examples.py [--renew] [--without parquet] REPOSITORY GOODPUT [PAGE.md or FOLDER...]

A block that begins with `$ ` (indented by four columns, or fenced as `console`) is commands and what they print, stdout and
stderr together. A command goes on in lines right below it that begin with `> `, and with a here-document to its end; one
that fails has to show an `error: ` line, a check that found a regression what is worse. A line `...` stands for any lines. Other blocks are fenced as what they are (DATA),
or are commands that no test runs: those are listed below (NOT_RUN), and so is what looks after them instead. There are no
commands elsewhere (STRAY).

Every page has a shell and an empty folder of its own, and goodput on the PATH as a package installs it: program, configs and
samples below /usr, which the test puts elsewhere. Pages of docs/formats find the samples as traces/samples.

Code spans that begin with `goodput`, with one of its commands or with a flag name what `goodput help` knows.

--renew writes what came out into the pages, with as many lines before and after a `...` as there were; review the difference
before committing it.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

PAGES = ("*.md", "docs")
DATA = ("cpp", "json", "python", "sql", "text")
STRAY = re.compile(r"\s*(\$ |~~~)|\s+```")
SAMPLES_AT_HAND = "docs/formats/"

# Page -> what runs its `console` blocks.
RUN_ELSEWHERE = {"CONTRIBUTING.md": "tests/contributing, in a copy of the repository with all that the page adds to it"}

# Command -> why it is not run here, and what looks after it.
NOT_RUN = {
    r"\./goodput-setup( --[\w-]+)?( && \./run-tests)?": "installs packages and builds: by hand, on a clean Debian 12",
    r"cmake --preset release && cmake --build build/release": "builds: what the release preset tests was built so",
    r"cmake --install build/release( --prefix \S+)?": "writes outside of the build; tests/package unpacks the same files",
    r"cpack --config build/release/CPackConfig\.cmake": "tests/package",
    r"(sudo )?apt (install|remove) \S+": "needs root; tests/package/package_test.py --root",
    r"build/release/tests/\w+( \S+)?": "benchmarks and their data take minutes; ./run-tests --full compiles them",
    r"hyperfine .*": "times a trace of minutes; the command itself is in tests/scenarios/whatif",
    r"goodput check smoke .*(--against|--policy-command|--junit) .*": "another build, or files of one's own; tests/scenarios/check",
    r"cmake -S gpu -B build/gpu && cmake --build build/gpu -j": "needs nvcc; tests/gpu_option_test.cmake, tests/cuda",
    r"gpu/(on-device \w+|measured) \S+": "needs a GPU, or results of one; tests/cuda",
    r"(compute-sanitizer .* )?build/gpu/\w+( \S+)*": "needs a GPU; gpu_test and dispatch_bench run emulated (tests/simt)",
    r"srun .* build/gpu/nccl_test .*": "needs GPUs; runs emulated (tests/slurm)",
    r"(srun .* )?build/gpu/goodput-calibrate .*": "needs a GPU; runs emulated (tests/gpu/calibrate_program_test.py)",
    r"python3 gpu/calibrate/attention.py .*": "needs torch and a GPU; tests/gpu/attention_test.py",
    r"goodput calibration info h200.json": "of a file that a GPU was measured for",
}

# Flags of other programs that pages name without the program.
OTHER_FLAGS = {"--profile-ranks": "Megatron-LM", "--prefix": "goodput-setup", "--dev": "goodput-setup", "--full": "run-tests", "--quick": "run-tests", "--all": "run-tests", "--only": "run-tests", "--since": "run-tests", "--regolden": "tests/run_scenario.py",
               "--renew": "tests/docs/examples.py", "--array": "sbatch", "--requeue": "sbatch",
               "--cpus-per-task": "sbatch"}


@dataclass
class Block:
    kind: str  # "indented", or what a fence says
    first: int  # its lines in the page, without the fence
    lines: list
    fence: int = 0  # the columns of an indented block

    def is_transcript(self):
        return self.kind in ("indented", "console") and self.lines[:1] and self.lines[0].startswith("$ ")


@dataclass
class Step:
    command: str
    shown: list
    first: int = 0  # of `shown`, in the lines of the block


def blocks(text):
    """The code blocks of a page."""
    found, block, blank = [], None, True
    for number, line in enumerate(text.splitlines()):
        if block and block.kind != "indented":
            if line.startswith("```"):
                block = None
            else:
                block.lines.append(line)
        elif line.startswith("```"):
            block = Block(line[3:].strip(), number + 1, [])
            found.append(block)
        elif line.startswith("    ") and (block or blank):
            if not block:
                block = Block("indented", number, [], 4)
                found.append(block)
            block.lines.append(line[4:])
        elif not line and block:
            block.lines.append("")
        else:
            block = None
        blank = not line
    for block in found:
        while block.lines and not block.lines[-1]:
            block.lines.pop()
    return found


def steps(block):
    """Its commands, each with the lines that stand below it."""
    found, end, is_command = [], None, False
    for number, line in enumerate(block.lines):
        if end:
            found[-1].command += "\n" + line
            end = None if line == end else end
        elif line.startswith("$ ") or is_command and line.startswith("> "):
            if line.startswith("$ "):
                found.append(Step(line[2:], []))
            else:
                found[-1].command += "\n" + line[2:]
            here = re.search(r"(?<!<)<<\s*'?(\w+)", line)
            end = here and here[1]
            is_command = True
        else:
            found[-1].shown.append(line)
            is_command = False
            continue
        found[-1].first = number + 1
    for step in found:
        while step.shown and not step.shown[-1]:
            step.shown.pop()
    return found


def run(commands, folder, environment):
    """What each prints, and its exit status: one shell for all of them."""
    script = "".join(f"{command}\nstatus=$?; printf '\\0%d\\0' $status; (exit $status)\n" for command in commands)
    done = subprocess.run(["bash", "-c", script], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    parts = done.stdout.decode(errors="backslashreplace").split("\0")
    results = [(text, int(status)) for text, status in zip(parts[::2], parts[1::2])]
    return results + [(parts[-1], done.returncode)] * (len(commands) - len(results))


def agrees(shown, printed):
    if "..." not in shown:
        return shown == printed
    pattern = "".join(r"(?:.*\n)*?" if line == "..." else re.escape(line) + r"\n" for line in shown if line)
    return re.fullmatch(pattern, "".join(line + "\n" for line in printed if line)) is not None


def shortened(shown, printed):
    """What was printed, in the shape that stands in the page."""
    if "..." not in shown:
        return printed
    head, tail = shown.index("..."), len(shown) - 1 - shown[::-1].index("...")
    after = len(shown) - 1 - tail
    return printed[:head] + ["..."] + (printed[-after:] if after else [])


class Place:
    """Where goodput is installed, in a folder that stands for /."""

    def __init__(self, root, repository, goodput):
        self.root = root
        (root / "usr/bin").mkdir(parents=True)
        try:
            os.link(goodput, root / "usr/bin/goodput")
        except OSError:  # another file system
            shutil.copy(goodput, root / "usr/bin/goodput")
        self.share = root / "usr/share/goodput"
        shutil.copytree(repository / "configs", self.share / "configs")
        shutil.copytree(repository / "traces/samples", self.share / "traces/samples")
        shutil.copytree(repository / "tools/policy_process", self.share / "python", ignore=shutil.ignore_patterns("__*"))
        kept = {name: value for name, value in os.environ.items() if name.startswith(("ASAN", "UBSAN", "LSAN", "ARROW"))}
        self.environment = kept | {"PATH": f"{root}/usr/bin:/usr/local/bin:/usr/bin:/bin", "HOME": f"{root}/home",
                                   "LC_ALL": "C.UTF-8", "TZ": "UTC", "TERM": "dumb"}

    def run(self, commands, page):
        folder = self.root / "home" / page.replace("/", "-")
        folder.mkdir(parents=True)
        if page.startswith(SAMPLES_AT_HAND):
            (folder / "traces").symlink_to(self.share / "traces")
        return [(text.replace(str(self.root), ""), status) for text, status in run(commands, folder, self.environment)]

    def help(self):
        """Words of a command -> its flags; () has those that all take."""
        def walk(command, words):
            flags[words] = {name for option in command["options"] for name in option["names"]}
            for inner in command.get("commands", []):
                walk(inner, (*words, inner["name"].split()[-1]))

        flags = {}
        printed = subprocess.run(["goodput", "help", "--json", "-"], env=self.environment, stdout=subprocess.PIPE, check=True)
        tree = json.loads(printed.stdout)["command"]
        walk(tree, ())
        flags[()] |= {name for option in tree["global_options"] for name in option["names"]}
        return flags


def listed(command):
    """Which entries of NOT_RUN it is."""
    return [pattern for pattern in NOT_RUN if re.fullmatch(pattern, command)]


class Checker:
    def __init__(self, place, without, renew):
        self.place, self.without, self.renew = place, without, renew
        self.flags = place.help()
        self.wrong, self.listed = [], set()
        self.run, self.left_out, self.spans, self.pages = 0, 0, 0, 0

    def check(self, page, name):
        self.pages += 1
        text = page.read_text()
        transcripts = []
        for block in blocks(text):
            problem = None
            if block.is_transcript():
                if name not in RUN_ELSEWHERE:
                    transcripts.append(block)
            elif block.kind in DATA:
                if any(re.match(r"(\$|goodput) ", line) for line in block.lines):
                    problem = f"a block of {block.kind} with commands in it"
            else:
                problem = self.why_not_run(block)
            if problem:
                self.wrong.append(f"{name}:{block.first + 1}: {problem}")
        inside = {number for block in blocks(text) for number in range(block.first, block.first + len(block.lines))}
        self.wrong += [f"{name}:{number + 1}: {line}\nis no block of its own, so that nothing runs it"
                       for number, line in enumerate(text.splitlines()) if number not in inside and STRAY.match(line)]
        self.check_transcripts(page, name, text, transcripts)
        self.check_spans(name, text)

    def why_not_run(self, block):
        for line in block.lines:
            command = re.sub(r"\s+#.*", "", line)
            entries = listed(command)
            self.listed.update(entries)
            if command and not entries:
                return (f"{line}\nis neither run (its block begins with `$ `), nor listed in NOT_RUN, "
                        f"nor fenced as one of {', '.join(DATA)}")
        return None

    def check_transcripts(self, page, name, text, transcripts):
        todo = [(block, step) for block in transcripts for step in steps(block)]
        for block, step in todo:
            if listed(step.command):
                self.wrong.append(f"{name}:{block.first + step.first}: $ {step.command}\n"
                                  "is listed in NOT_RUN: show it without `$ `")
                return
        kept = [(block, step) for block, step in todo if not any(f".{feature}" in step.command for feature in self.without)]
        self.left_out += len(todo) - len(kept)
        self.run += len(kept)
        lines = text.splitlines()
        results = self.place.run([step.command for _, step in kept], name) if kept else []
        problems = []
        for (block, step), (printed, status) in reversed(list(zip(kept, results))):  # so that lines keep their numbers
            printed = printed.rstrip("\n").splitlines()
            first = block.first + step.first
            if not agrees(step.shown, printed):
                problems.append(f"{name}:{first}: $ {step.command}\nprints\n" + "\n".join(printed) + "\n")
                lines[first:first + len(step.shown)] = [" " * block.fence + line if line else "" for line in shortened(step.shown, printed)]
            elif status and not any(("worse" if status == 3 else "error: ") in line for line in step.shown):
                problems.append(f"{name}:{first}: $ {step.command}\nends with {status}, and shows no error")
        self.wrong += reversed(problems)
        if self.renew:
            page.write_text("\n".join(lines) + "\n")

    def check_spans(self, name, text):
        for block in reversed(blocks(text)):
            text = text.replace("\n".join(" " * block.fence + line if line else "" for line in block.lines), "")
        for span in re.findall(r"(?<!`)`([^`]+)`(?!`)", text):
            span = " ".join(span.split())
            for command in re.split(r"[|;)]|&&|<\(", span):
                words = command.split()
                is_named = words[:1] == ["goodput"]
                problem = self.unknown(words[1:] if is_named else words, is_named)
                if problem:
                    self.wrong.append(f"{name}: `{span}`: {problem}")

    def unknown(self, words, is_named):
        """What of the words behind `goodput` it does not know; without that word, of a command and what follows, or a flag."""
        at = max(count for count in range(len(words) + 1) if tuple(words[:count]) in self.flags)
        command, rest = tuple(words[:at]), words[at:]
        if not command and not is_named:
            return self.unknown_flag(words)
        self.spans += 1
        called = " ".join(("goodput", *command))
        has_commands = any(other[:-1] == command for other in self.flags if other)
        if has_commands and rest and re.match(r"[a-z]", rest[0]):
            return f"{called} has no {rest[0]}"
        unknown = sorted(flags_in(rest) - self.flags[command] - self.flags[()])
        return f"{called} has no {', '.join(unknown)}" if unknown else None

    def unknown_flag(self, words):
        """Of a span that is a flag, and maybe its value: whether nothing has it."""
        flags = flags_in(words[:1])
        self.spans += len(flags)
        return f"no command has {flags.pop()}" if flags - set().union(OTHER_FLAGS, *self.flags.values()) else None


def flags_in(words):
    return {re.split(r"[=\]\[,]", word.lstrip("["))[0] for word in words if re.match(r"\[?(--[a-z]|-[A-Za-z]$)", word)}


def pages_of(root, names):
    for path in (path for name in names for path in sorted(root.glob(name))):
        for page in sorted(path.rglob("*.md")) if path.is_dir() else [path]:
            yield page, str(page.relative_to(root))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--renew", action="store_true")
    parser.add_argument("--without", action="append", default=[], metavar="FEATURE")
    parser.add_argument("repository", type=Path)
    parser.add_argument("goodput", type=Path)
    parser.add_argument("pages", nargs="*", metavar="PAGE")
    arguments = parser.parse_args()
    root = arguments.repository.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        place = Place(Path(scratch).resolve(), root, arguments.goodput.resolve())
        checker = Checker(place, arguments.without, arguments.renew)
        for page, name in pages_of(root, arguments.pages or PAGES):
            checker.check(page, name)
    if not arguments.pages:
        checker.wrong += [f"NOT_RUN: no page has {pattern}" for pattern in NOT_RUN if pattern not in checker.listed]
    for problem in checker.wrong:
        print(problem)
    print(f"{checker.pages} pages: {checker.run} commands run, {checker.left_out} left out, "
          f"{checker.spans} code spans checked, {len(checker.listed)} kinds of commands listed as not run")
    return 1 if checker.wrong or not checker.run or not checker.spans else 0


if __name__ == "__main__":
    sys.exit(main())
