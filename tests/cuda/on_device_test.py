"""Tests of gpu/on-device, with stand-ins for nvidia-smi, cmake and everything that would run on a GPU."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import time
import unittest
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parents[2]
SCRIPT = REPOSITORY / "gpu/on-device"
# All that the script may use; nothing else is on its PATH.
TOOLS = ("awk", "bash", "cat", "cksum", "date", "dirname", "env", "git", "grep", "mkdir", "nproc", "readlink", "rm", "sleep",
         "stdbuf", "tail", "tee", "timeout", "wc")

NVIDIA_SMI = """
case "$*" in
  *query-gpu=name\\ *) echo "NVIDIA Made Up" ;;
  *compute_cap*) echo "${CAPABILITY:-9.0}" ;;
  *clocks_event_reasons*) [[ -z ${OLD_DRIVER:-} ]] || { echo "not a valid field"; exit 2; }; echo 0x0 ;;
  *) echo "clocks of $*" ;;
esac"""
# As the real one it takes a build folder for one source only and makes the programs; their texts are in the folder of the
# stand-ins.
CMAKE = """
echo "cmake $*" >>"$STAGE/cmake.log"
if [[ $1 == --build ]]; then cp "$STAGE/programs/"* "$2"; exit; fi
[[ ! -f $4/CMakeCache.txt || $2 == "$(cat "$4/CMakeCache.txt")" ]] || { echo "CMake Error: the source does not match"; exit 1; }
echo "$2" >"$4/CMakeCache.txt" """
GPU_TEST = "echo '12 passed, 0 failed'"
NCCL_TEST = "[[ $* == '--deadline-s 30' ]] && echo '11 passed, 0 failed'"
NCCL_LOOPBACK = "[[ $* == '--ranks '[24]' --deadline-s 30' ]] && echo correctness_only: && echo '11 passed, 0 failed'"
# An old one: gpu_test calls the CUDA runtime with wrong arguments on purpose, which memcheck takes for errors unless told not
# to, and racecheck takes bulk copies for hazards.
SANITIZER = """
if [[ $* == --version ]]; then echo "Compute Sanitizer"; echo "Version 2025.3.1"; exit; fi
[[ "$* " == *" --error-exitcode 9 "*"/gpu_test --small " ]] || exit 3
"${@: -2}"
case "$*" in
  "--tool memcheck --report-api-errors no "*) echo '========= ERROR SUMMARY: 0 errors' ;;
  "--tool memcheck "*) echo '========= ERROR SUMMARY: 1 error'; exit 9 ;;
  "--tool racecheck --kernel-name-exclude kns=copy_rows_bulk "*)
    echo '========= RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)' ;;
  "--tool racecheck --kernel-name kns=copy_rows_bulk "*)
    echo '========= RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)'; exit 9 ;;
  *) echo '========= RACECHECK SUMMARY: 4 hazards displayed (4 errors, 0 warnings)'; exit 9 ;;
esac"""
POINT = """    {{
      "op": "{0}",
      "shape": "{1}",
      "path": "{2}",
      "tier": "measured",
      "target_us": 12,
      "median_us": 99,
      "graph": {{
        "median_us": {3},
        "runs_in_graph": 20
      }},
      "target": "{4}",
      "nwrong": 0
    }}"""
ROW_POINT = """    {
      "op": "scatter",
      "shape": "T=65536 d=7168 k=8",
      "path": "bulk",
      "target_share": 0.85,
      "median_us": %s,
      "target": "-"
    },
    {
      "op": "regroup",
      "shape": "T=1 d=2 k=3",
      "path": "bulk",
      "median_us": 5
    },
    {
      "op": "scatter",
      "shape": "T=16384 d=4096 k=8",
      "path": "bulk",
      "target_share": 0.85,
      "skipped": "deadline"
    }"""


def bench_json(schedule_us, packed_us, scatter_us):
    points = [POINT.format("schedule", "R=1024 E=512", "proportional", schedule_us, "met"),
              POINT.format("schedule", "R=1024 E=512", "packed", packed_us, "missed"), ROW_POINT % scatter_us]
    return '{\n  "schema": "made up",\n  "points": [\n' + ",\n".join(points) + "\n  ]\n}\n"


BENCH = """
while [[ $1 != --json ]]; do shift; done
echo "a table"
touch "$2.part123"
cat "$STAGE/$2" >"$2" """


class Run(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.stage = Path(folder.name)
        self.bin = self.stage / "bin"
        self.bin.mkdir()
        for tool in (*TOOLS, "cp", "touch"):  # the last two for the stand-ins
            (self.bin / tool).symlink_to(shutil.which(tool))
        (self.stage / "programs").mkdir()
        self.out = self.stage / "out"
        self.write("bin/nvidia-smi", NVIDIA_SMI)
        self.write("bin/cmake", CMAKE)
        self.write("bin/compute-sanitizer", SANITIZER)
        self.write("programs/gpu_test", GPU_TEST)
        self.write("programs/nccl_test", NCCL_TEST)
        self.write("programs/nccl_loopback", NCCL_LOOPBACK)
        self.write("programs/dispatch_bench", BENCH)
        (self.stage / "dispatch.json").write_text(bench_json(10, 20, 2000))
        (self.stage / "dispatch-again.json").write_text(bench_json(10.2, 21, 1990))

    def write(self, name, text):
        (self.stage / name).write_text(f"#!{shutil.which('bash')}\n{text}\n")
        (self.stage / name).chmod(0o755)

    def start(self, *arguments, script=SCRIPT, **environment):
        environment = {"PATH": str(self.bin), "TMPDIR": str(self.stage), "STAGE": str(self.stage),
                       "CUDA_HOME": str(self.stage), **environment}
        return subprocess.Popen([script, *arguments], env=environment, cwd=self.stage, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def run_script(self, *arguments, script=SCRIPT, **environment):
        process = self.start(*arguments, script=script, **environment)
        printed, _ = process.communicate(timeout=60)
        return process.returncode, printed

    def summary(self):
        """Step -> what the summary says of it, its exit code and result; and the verdict."""
        lines = (self.out / "summary.txt").read_text().splitlines()
        steps = {}
        for line in lines:
            found = re.match(r"(\S+) +\d+ s  exit (\S+) +(.*)", line)
            if found:
                steps[found[1]] = (found[2], found[3])
        return steps, lines[-1].removeprefix("verdict: ")

    def files(self):
        return sorted(file.name for file in self.out.iterdir())

    def until(self, happened):
        end = time.monotonic() + 30
        while not happened():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.02)


class Usage(Run):
    def test_without_a_gpu_one_line_says_so(self):
        (self.bin / "nvidia-smi").unlink()
        for command in ("build", "bench", "calibrate"):
            self.assertEqual(self.run_script(command), (77, "on-device: no GPU: nvidia-smi is not installed\n"))
        for text in ("exit 0", "echo 'No devices were found'; exit 6"):
            self.write("bin/nvidia-smi", text)
            self.assertEqual(self.run_script("build", "out"), (77, "on-device: no GPU: nvidia-smi finds none\n"))
        self.assertFalse(self.out.exists())

    def test_bad_usage_is_one_line(self):
        (self.stage / "file").touch()
        help_ = "; see gpu/on-device --help\n"
        for arguments, text in (
                ((), "a command is required: build, bench or calibrate" + help_),
                (("make",), "unknown command 'make'; it must be build, bench or calibrate" + help_),
                (("build", "--fast"), "unknown option '--fast'" + help_),
                (("build", "out", "more"), "unexpected argument 'more'" + help_),
                (("build", "file"), "cannot write into the folder file\n")):
            self.assertEqual(self.run_script(*arguments), (1, "on-device: " + text))
        self.assertEqual(self.run_script("build", "out", GOODPUT_GPU_BUILD="file"),
                         (1, "on-device: cannot write into the build folder file\n"))
        self.assertEqual(self.run_script("build", GOODPUT_LIMIT_S="1.5"),
                         (1, "on-device: GOODPUT_DEADLINE_S and GOODPUT_LIMIT_S must be whole seconds from 1 to 9999, not '1.5'\n"))

    def test_help(self):
        status, printed = self.run_script("--help")
        self.assertEqual(status, 0)
        self.assertTrue(printed.startswith("usage: gpu/on-device build|bench|calibrate [FOLDER]\n"), printed)

    def test_what_is_built_for(self):
        def architectures(**environment):
            (self.stage / "cmake.log").unlink(missing_ok=True)
            status, printed = self.run_script("build", "out", **environment)
            self.assertEqual(status, 0, printed)
            return re.search(r"CMAKE_CUDA_ARCHITECTURES=(\S+)", (self.stage / "cmake.log").read_text())[1]

        self.assertEqual(architectures(), "90a-real")
        self.assertEqual(architectures(CAPABILITY="9.0\n9.0"), "90a-real")
        self.assertEqual(architectures(CAPABILITY="8.6"), "86-real")
        self.assertEqual(architectures(CAPABILITY="10.0"), "100-real")
        self.assertEqual(architectures(GOODPUT_CUDA_ARCHITECTURES="80", CAPABILITY="none"), "80")
        self.assertEqual(self.run_script("build", CAPABILITY="[N/A]"),
                         (1, "on-device: nvidia-smi does not report the compute capability ('[N/A]'); set "
                             "GOODPUT_CUDA_ARCHITECTURES, for example to 90a-real\n"))


class Build(Run):
    def test_everything_passes(self):
        status, printed = self.run_script("build", "out", GOODPUT_REVISION="abc")
        self.assertEqual(status, 0, printed)
        steps, verdict = self.summary()
        self.assertEqual(steps, {
            "configure": ("0", "passed"), "compile": ("0", "passed"), "gpu_test": ("0", "passed: 12 passed, 0 failed"),
            **{name: ("0", "passed: 11 passed, 0 failed") for name in ("nccl_test", "nccl_loopback-2", "nccl_loopback-4")},
            "compute-sanitizer": ("0", "passed: Version 2025.3.1"),
            "memcheck": ("0", "passed: ERROR SUMMARY: 0 errors"),
            "racecheck": ("0", "passed: RACECHECK SUMMARY: 0 hazards displayed (0 errors, 0 warnings)"),
            "racecheck-bulk": ("9", "to look at: RACECHECK SUMMARY: 3 hazards displayed (3 errors, 0 warnings)")})
        self.assertEqual(verdict, "everything ran and passed; to look at: racecheck-bulk")
        self.assertIn("\nCompute Sanitizer\nVersion 2025.3.1\n", (self.out / "sanitizer.txt").read_text())
        self.assertIn("NVIDIA Made Up, built for 90a-real, revision abc\n", (self.out / "summary.txt").read_text())
        self.assertEqual(self.files(), ["build.txt", "gpu_test.txt", "nccl.txt", "sanitizer.txt", "summary.txt"])

    def test_ranks_that_nccl_does_not_let_share_a_gpu_are_not_run_and_no_failure(self):
        self.write("programs/nccl_loopback", "echo 'skipped: NCCL does not let ranks share this GPU: Duplicate GPU'; exit 77")
        status, printed = self.run_script("build", "out")
        self.assertEqual(status, 0, printed)
        steps, _ = self.summary()
        for ranks in (2, 4):
            self.assertEqual(steps[f"nccl_loopback-{ranks}"], (
                "77", "not run: skipped: NCCL does not let ranks share this GPU: Duplicate GPU"))

    def test_a_failing_nccl_test_is_a_failure(self):
        self.write("programs/nccl_test", "echo '10 passed, 1 failed'; exit 1")
        self.assertEqual(self.run_script("build", "out")[0], 1)
        steps, verdict = self.summary()
        self.assertEqual((steps["nccl_test"], verdict), (("1", "failed: 10 passed, 1 failed"), "failed"))

    def test_without_nccl_all_else_runs(self):
        (self.stage / "programs/nccl_test").unlink()
        (self.stage / "programs/nccl_loopback").unlink()
        status, printed = self.run_script("build", "out")
        self.assertEqual(status, 0, printed)
        steps, _ = self.summary()
        self.assertEqual(steps["nccl"], ("-", "not run: built without NCCL"))
        self.assertNotIn("nccl.txt", self.files())

    def test_every_checkout_has_a_build_folder_of_its_own(self):
        other = self.stage / "other/gpu/on-device"
        other.parent.mkdir(parents=True)
        shutil.copy(SCRIPT, other)
        for script in (SCRIPT, other, SCRIPT):
            status, printed = self.run_script("build", "out", script=script)
            self.assertEqual(status, 0, printed)
        self.assertEqual(len(list(self.stage.glob("goodput-gpu-*/gpu_test"))), 2)
        self.assertEqual(self.run_script("build", "out", GOODPUT_GPU_BUILD="own")[0], 0)
        self.assertTrue((self.stage / "own/gpu_test").exists())

    def test_a_folder_with_the_date_is_the_default(self):
        self.assertEqual(self.run_script("build")[0], 0)
        self.assertTrue(list(self.stage.glob("on-device-20*Z/summary.txt")))

    def test_a_failing_test_is_shown_and_the_others_run(self):
        self.write("programs/gpu_test", "echo 'FAILED scatter'; echo '11 passed, 1 failed'; exit 1")
        self.write("bin/compute-sanitizer", "echo '========= ERROR SUMMARY: 3 errors'; exit 9")
        status, printed = self.run_script("build", "out")
        steps, verdict = self.summary()
        self.assertEqual((status, verdict), (1, "failed"))
        self.assertIn("FAILED scatter\n", printed)
        self.assertEqual(steps["gpu_test"], ("1", "failed: 11 passed, 1 failed"))
        self.assertEqual(steps["memcheck"], ("9", "failed: ERROR SUMMARY: 3 errors"))

    def test_a_success_that_does_not_say_so_is_none(self):
        self.write("programs/gpu_test", "exit 0")
        self.write("bin/compute-sanitizer", "echo '========= RACECHECK SUMMARY: 2 hazards displayed (0 errors, 2 warnings)'")
        self.assertEqual(self.run_script("build", "out")[0], 1)
        steps, _ = self.summary()
        self.assertEqual(steps["gpu_test"], ("0", "failed: no line with '^[0-9]+ passed, 0 failed$' in gpu_test.txt"))
        self.assertEqual(steps["racecheck"], ("0", "failed: no line with 'RACECHECK SUMMARY: 0 hazards' in sanitizer.txt"))

    def test_racecheck_of_bulk_copies_is_no_failure(self):
        def bulk(text, **environment):
            only_bulk = f"[[ $* != *'--kernel-name '* ]] || {{ {text}; }}\n"
            self.write("bin/compute-sanitizer", SANITIZER.replace("case", only_bulk + "case", 1))
            status, printed = self.run_script("build", "out", **environment)
            steps, verdict = self.summary()
            self.assertEqual(status, 0, printed)
            return steps["racecheck-bulk"], verdict

        passed = "everything ran and passed"
        clean = "RACECHECK SUMMARY: 0 hazards displayed"
        self.assertEqual(bulk(f"echo '{clean}'; exit 0"), (("0", f"passed: {clean}"), passed))
        self.assertEqual(bulk("echo no summary; exit 0"),
                         (("0", "to look at: no line with 'RACECHECK SUMMARY: 0 hazards' in sanitizer.txt"),
                          f"{passed}; to look at: racecheck-bulk"))
        self.assertEqual(bulk("sleep 60", GOODPUT_LIMIT_S="2"),
                         (("124", "to look at: timed out"), f"{passed}; to look at: racecheck-bulk"))

    def test_sanitizers_that_hang_end_at_the_deadline(self):
        self.write("bin/compute-sanitizer", "[[ $1 == --version ]] || exec sleep 60")
        began = time.monotonic()
        self.assertEqual(self.run_script("build", "out", GOODPUT_DEADLINE_S="9")[0], 1)
        self.assertLess(time.monotonic() - began, 9)
        steps, verdict = self.summary()
        self.assertEqual((steps["racecheck-bulk"], verdict), (("-", "not run: no time left"), "failed"))

    def test_a_gpu_that_only_nvidia_smi_finds_is_a_failure(self):
        self.write("programs/gpu_test", "echo 'skipped: no GPU (driver too old)'; exit 77")
        self.assertEqual(self.run_script("build", "out")[0], 1)
        self.assertEqual(self.summary()[0]["gpu_test"], ("77", "failed: skipped: no GPU (driver too old)"))

    def test_bulk_copies_must_run_where_the_device_has_them(self):
        printed = "12 passed, 0 failed, 3 skipped: this GPU has no bulk copies"
        self.write("programs/gpu_test", f"echo '{printed}'")
        for architectures in ("", "90-real"):
            self.assertEqual(self.run_script("build", "out", GOODPUT_CUDA_ARCHITECTURES=architectures)[0], 1)
            self.assertEqual(self.summary()[0]["gpu_test"],
                             ("0", "failed: no line with '^[0-9]+ passed, 0 failed$' in gpu_test.txt"))
        self.assertEqual(self.run_script("build", "out", CAPABILITY="8.0")[0], 0)
        self.assertEqual(self.summary()[0]["gpu_test"], ("0", f"passed: {printed}"))

    def test_a_step_that_hangs_is_cut_and_the_summary_comes(self):
        self.write("programs/gpu_test", "echo begun; [[ $# == 1 ]] || sleep 60")
        status, _ = self.run_script("build", "out", GOODPUT_LIMIT_S="2")
        steps, verdict = self.summary()
        self.assertEqual((status, verdict), (1, "failed"))
        self.assertEqual(steps["gpu_test"], ("124", "timed out"))
        self.assertTrue(steps["racecheck"][1].startswith("passed"), steps)
        self.assertIn("begun\n", (self.out / "gpu_test.txt").read_text())

    def test_what_the_deadline_leaves_no_time_for_is_skipped(self):
        self.write("programs/gpu_test", "exec sleep 60")
        status, _ = self.run_script("build", "out", GOODPUT_DEADLINE_S="6")
        steps, verdict = self.summary()
        self.assertEqual((status, verdict), (1, "failed"))
        self.assertEqual(steps["racecheck"], ("-", "skipped: no time left"))
        self.assertEqual(steps["racecheck-bulk"], ("-", "not run: no time left"))

    def test_a_missing_sanitizer_is_no_success(self):
        (self.bin / "compute-sanitizer").unlink()
        self.assertEqual(self.run_script("build", "out")[0], 1)
        steps, _ = self.summary()
        for tool in ("memcheck", "racecheck", "racecheck-bulk"):
            self.assertEqual(steps[tool], ("-", "skipped: compute-sanitizer is not installed"))

    def test_without_a_build_nothing_else_runs(self):
        self.write("bin/cmake", "echo 'CMake Error: no nvcc'; exit 1")
        self.assertEqual(self.run_script("build", "out")[0], 1)
        steps, _ = self.summary()
        others = ("gpu_test", "nccl", "memcheck", "racecheck", "racecheck-bulk")
        self.assertEqual(steps, {"configure": ("1", "failed: CMake Error: no nvcc"),
                                 **{name: ("-", "skipped: not built") for name in others}})


class Bench(Run):
    def test_targets_and_the_second_run_are_in_the_summary(self):
        status, printed = self.run_script("bench", "out")
        self.assertEqual(status, 0, printed)
        lines = [line for line in (self.out / "summary.txt").read_text().splitlines() if line.startswith("target")]
        self.assertEqual(lines, [
            "target schedule R=1024 E=512 proportional: met, 10 us, again 10.2 us, +2.0 %: within 3 %",
            "target schedule R=1024 E=512 packed: missed, 20 us, again 21 us, +5.0 %: beyond 3 %",
            "target scatter T=65536 d=7168 k=8 bulk: -, 2000 us, again 1990 us, -0.5 %: within 3 %"])
        self.assertEqual(self.summary()[1],
                         "everything ran and passed; 4 points measured, 1 skipped; "
                         "targets: 1 met, 1 missed, 1 not judged; again: 2 within 3 %, 1 beyond")
        self.assertEqual((self.out / "dispatch.json").read_text(), bench_json(10, 20, 2000))

    def test_build_and_bench_make_nine_files(self):
        for command in ("build", "bench", "bench"):
            self.assertEqual(self.run_script(command, "out")[0], 0)
        self.assertEqual(self.files(), ["build.txt", "dispatch-again.json", "dispatch.json", "dispatch.txt", "gpu_test.txt",
                                        "nccl.txt", "nvidia-smi.txt", "sanitizer.txt", "summary.txt"])

    def test_clocks_are_recorded_by_old_drivers_too(self):
        self.assertEqual(self.run_script("bench", "out", OLD_DRIVER="1")[0], 0)
        text = (self.out / "nvidia-smi.txt").read_text()
        self.assertEqual(re.findall(r"== (.*), 20", text), ["before", "after", "after again"])
        self.assertEqual(text.count("clocks.sm"), 3)
        self.assertEqual(text.count("clocks of --query-gpu=clocks_throttle_reasons.active"), 3)

    def test_wrong_results_are_a_failure_and_kept(self):
        self.write("programs/dispatch_bench", BENCH + "\nexit 2")
        status, _ = self.run_script("bench", "out")
        steps, verdict = self.summary()
        self.assertEqual((status, steps["dispatch_bench"]), (1, ("2", "failed: a table")))
        self.assertTrue(verdict.startswith("failed; 4 points measured, 1 skipped; targets: 1 met"), verdict)

    def test_a_benchmark_that_hangs_leaves_its_points(self):
        self.write("programs/dispatch_bench", BENCH + "\n[[ $2 != dispatch.json ]] || sleep 60")
        status, _ = self.run_script("bench", "out", GOODPUT_LIMIT_S="2")
        steps, verdict = self.summary()
        self.assertEqual((status, steps["dispatch_bench"]), (1, ("124", "timed out")))
        self.assertTrue(verdict.startswith("failed; 4 points measured, 1 skipped; targets: 1 met, 1 missed, 1 not judged; again: 2 within 3 %"), verdict)

    def test_the_second_run_is_for_time_that_is_left(self):
        self.assertEqual(self.run_script("bench", "out", GOODPUT_DEADLINE_S="60")[0], 0)
        steps, verdict = self.summary()
        self.assertEqual(steps["dispatch_bench-again"], ("-", "not run: no time left"))
        self.assertTrue(verdict.endswith("1 not judged; again: 0 within 3 %, 0 beyond"), verdict)
        self.assertIn("target schedule R=1024 E=512 proportional: met, 10 us\n", (self.out / "summary.txt").read_text())

    def test_results_of_a_run_before_stay_until_there_are_new_ones(self):
        self.assertEqual(self.run_script("bench", "out")[0], 0)
        self.write("bin/cmake", "exit 1")
        self.assertEqual(self.run_script("bench", "out")[0], 1)
        self.assertEqual(self.summary(), ({**self.summary()[0], "dispatch_bench": ("-", "skipped: not built")}, "failed"))
        for name, content in (("dispatch.json", bench_json(10, 20, 2000)), ("dispatch-again.json", bench_json(10.2, 21, 1990))):
            self.assertEqual((self.out / name).read_text(), content)

    def test_results_of_a_run_before_are_not_those_of_the_next(self):
        self.assertEqual(self.run_script("bench", "out")[0], 0)
        self.write("programs/dispatch_bench", "exit 1")
        self.assertEqual(self.run_script("bench", "out")[0], 1)
        self.assertFalse([name for name in self.files() if name.endswith(".json")])
        self.write("programs/dispatch_bench", BENCH)
        self.assertEqual(self.run_script("bench", "out")[0], 0)
        self.assertEqual(self.run_script("bench", "out", GOODPUT_DEADLINE_S="60")[0], 0)
        self.assertIn("dispatch.json", self.files())
        self.assertNotIn("dispatch-again.json", self.files())


class Calibrate(Run):
    CALIBRATE = """
[[ "$1 $2 $3 $4" == '--out calibration.json --resume --deadline-s' ]] || exit 3
echo "$5" >>"$STAGE/deadlines"
touch calibration.json calibration.json.journal
echo 'all 838 points measured'"""

    def setUp(self):
        super().setUp()
        self.write("programs/goodput-calibrate", self.CALIBRATE)

    def test_it_calibrates_into_the_folder_and_goes_on_there(self):
        for _ in range(2):
            status, printed = self.run_script("calibrate", "out")
            self.assertEqual(status, 0, printed)
        steps, verdict = self.summary()
        self.assertEqual((steps["calibrate"], verdict), (("0", "passed: all 838 points measured"), "everything ran and passed"))
        self.assertEqual(steps["attention"], ("-", "not run: python3 is not installed"))
        self.assertEqual(self.files(), ["build.txt", "calibrate.txt", "calibration.json", "calibration.json.journal",
                                        "nvidia-smi.txt", "summary.txt"])
        self.assertEqual((self.stage / "deadlines").read_text(), "480\n" * 2)

    def test_attention_is_measured_where_python_can_and_the_file_is_made_again(self):
        self.write("bin/python3", """[[ "$2" == */gpu/calibrate/attention.py ]] && [[ "$3 $4" == '--journal calibration.json.journal' ]] &&
echo 'all 64 points measured'""")
        status, printed = self.run_script("calibrate", "out")
        self.assertEqual(status, 0, printed)
        steps, _ = self.summary()
        self.assertEqual(steps["attention"], ("0", "passed: all 64 points measured"))
        self.assertEqual(steps["calibrate-attention"], ("0", "passed: all 838 points measured"))
        self.assertEqual((self.stage / "deadlines").read_text(), "480\n15\n")

        self.write("bin/python3", "echo 'skipped: torch is not installed for this Python'; exit 77")
        self.assertEqual(self.run_script("calibrate", "out")[0], 0)
        self.assertEqual(self.summary()[0]["attention"], ("77", "not run: skipped: torch is not installed for this Python"))

    def test_wrong_results_no_program_and_no_build_are_failures(self):
        self.write("programs/goodput-calibrate", self.CALIBRATE + "\nexit 2")
        self.assertEqual(self.run_script("calibrate", "out")[0], 1)
        self.assertEqual(self.summary()[0]["calibrate"], ("2", "failed: all 838 points measured"))
        (self.stage / "programs/goodput-calibrate").unlink()
        self.assertEqual(self.run_script("calibrate", "out", GOODPUT_GPU_BUILD="other")[0], 1)
        self.assertEqual(self.summary()[0]["calibrate"], ("-", "skipped: built without the cuBLAS headers"))
        self.write("bin/cmake", "exit 1")
        self.assertEqual(self.run_script("calibrate", "out")[0], 1)
        self.assertEqual((self.summary()[0]["calibrate"], self.summary()[1]), (("-", "skipped: not built"), "failed"))

    def test_attention_that_fails_is_a_failure_and_the_file_stays_as_it_is(self):
        self.write("bin/python3", "echo 'attention.py: no memory'; exit 1")
        self.assertEqual(self.run_script("calibrate", "out")[0], 1)
        steps, verdict = self.summary()
        self.assertEqual((steps["attention"], verdict), (("1", "failed: attention.py: no memory"), "failed"))
        self.assertNotIn("calibrate-attention", steps)

    def test_a_short_visit_has_a_short_deadline(self):
        self.assertEqual(self.run_script("calibrate", "out", GOODPUT_DEADLINE_S="60")[0], 0)
        deadline_s = int((self.stage / "deadlines").read_text())
        self.assertTrue(20 <= deadline_s <= 26, deadline_s)


class Stopped(Run):
    def start_and_wait(self):
        """A run in the middle of gpu_test, and the id of that."""
        self.write("programs/gpu_test", 'echo "begun $$"; exec sleep 60')
        process = self.start("build", "out")
        self.addCleanup(process.stdout.close)
        log = self.out / "gpu_test.txt"
        self.until(lambda: log.exists() and re.search(r"begun \d+\n", log.read_text()))
        return process, int(re.search(r"begun (\d+)", log.read_text())[1])

    def test_sigterm_ends_what_runs_and_writes_the_summary(self):
        process, child = self.start_and_wait()
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(30), 128 + signal.SIGTERM)
        steps, verdict = self.summary()
        self.assertEqual((steps["gpu_test"], verdict), (("-", "stopped"), "stopped by SIGTERM"))
        self.assertNotIn("memcheck", steps)
        self.until(lambda: not Path(f"/proc/{child}/cwd").exists())

    def test_sigkill_keeps_what_there_is(self):
        process, child = self.start_and_wait()
        process.kill()
        process.wait()
        os.kill(child, signal.SIGKILL)
        steps = self.summary()[0]
        self.assertEqual(steps, {"configure": ("0", "passed"), "compile": ("0", "passed")})


if __name__ == "__main__":
    unittest.main()
