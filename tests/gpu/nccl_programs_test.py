"""Tests of nccl_test and nccl_loopback as a user meets them, emulated: one device a process, NCCL a stand-in.

nccl_programs_test.py FOLDER: where nccl_test_emulated and nccl_loopback_emulated are."""

import os
import re
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

PROGRAMS = Path(sys.argv.pop(1) if len(sys.argv) > 1 else ".").resolve()


class Programs(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def start(self, program, *arguments, **environment):
        kept = {name: os.environ[name] for name in ("PATH", "ASAN_OPTIONS") if name in os.environ}
        return subprocess.Popen([PROGRAMS / f"{program}_emulated", *arguments], env={**kept, **environment}, cwd=self.folder,
                                text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True)

    def end(self, process):
        """Exit code and what was printed; nobody of the process' session is left."""
        printed, _ = process.communicate(timeout=60)
        with self.assertRaises(ProcessLookupError, msg="a process is left"):
            os.killpg(process.pid, 0)
        return process.returncode, printed

    def run_program(self, program, *arguments, **environment):
        return self.end(self.start(program, *arguments, **environment))

    def test_a_rank_passes_on_the_one_gpu(self):
        status, printed = self.run_program("nccl_test", "--only", "graph")
        self.assertEqual((status, printed.splitlines()[-1]), (0, "2 passed, 0 failed"), printed)

    def test_ranks_that_share_the_gpu_pass_and_are_not_timed(self):
        status, printed = self.run_program("nccl_loopback", "--ranks", "3", "--only", "migration")
        self.assertEqual(status, 0, printed)
        self.assertEqual(printed.splitlines()[-2:], [
            "correctness_only: ranks that share a GPU are checked but not timed", "3 passed, 0 failed"])

    def test_ranks_of_the_loopback_are_hosts_of_their_own_for_nccl_unless_the_user_says_which(self):
        one_gpu = {"SIMT_NCCL_ONE_GPU": "1"}
        status, printed = self.run_program("nccl_loopback", "--ranks", "3", "--only", "graph", **one_gpu)
        self.assertEqual((status, printed.splitlines()[-1]), (0, "2 passed, 0 failed"), printed)
        status, printed = self.run_program("nccl_loopback", NCCL_HOSTID="mine", **one_gpu)
        self.assertEqual(status, 77, printed)
        self.assertRegex(printed, r"^skipped: NCCL does not let ranks share this GPU: .*invalid usage: Duplicate GPU detected: .*\n$")

    def test_a_check_that_nobody_has_is_no_success(self):
        status, printed = self.run_program("nccl_test", "--only", "nonsense")
        self.assertEqual((status, printed), (1, "0 passed, 0 failed\n"))

    def test_more_ranks_than_gpus_are_refused(self):
        self.assertEqual(self.run_program("nccl_test", "--ranks", "3"), (
            1, "nccl_test: --ranks is 3, but there is 1 GPU: each rank needs its own GPU (nccl_loopback lets ranks share one)\n"))

    def test_options_that_are_none_are_refused(self):
        for arguments, problem in ((("--ranks", "0"), "--ranks must be from 1 to 64, not '0'"),
                                   (("--ranks", "x"), "--ranks must be from 1 to 64, not 'x'"),
                                   (("--deadline-s", "1e3"), "--deadline-s must be from 1 to 9999, not '1e3'"),
                                   (("--only",), "--only needs a value"), (("--fast",), "unknown option: --fast"),
                                   (("--ranks", "2", "--id-file", "id"), "--ranks and --id-file cannot be combined: with an id file, the environment sets the number of ranks")):
            status, printed = self.run_program("nccl_test", *arguments)
            self.assertEqual((status, printed.splitlines()[0]), (1, "nccl_test: " + problem))
            self.assertIn("usage: nccl_test [--ranks N]", printed)

    def test_ranks_that_share_a_gpu_are_of_one_machine(self):
        status, printed = self.run_program("nccl_loopback", "--id-file", "id")
        self.assertEqual((status, printed.splitlines()[0]), (1, "nccl_loopback: unknown option: --id-file"))

    def test_a_rank_of_many_without_nccl_is_no_skip(self):
        status, printed = self.run_program("nccl_test", "--id-file", "id", SIMT_NCCL_FAULTS="version=21803")
        self.assertEqual(status, 1)
        self.assertRegex(printed, r"^nccl_test: NCCL 2\.18\.3 is older than 2\.19; [^\n]*\n$")

    def test_help_and_list(self):
        status, printed = self.run_program("nccl_loopback", "--help")
        self.assertEqual(status, 0)
        self.assertNotIn("--id-file", printed)
        status, printed = self.run_program("nccl_test", "--list", "--ranks", "8")
        self.assertEqual(status, 0)
        self.assertIn("layer: ranks=8 ", printed)

    def test_an_old_nccl_is_skipped_with_the_version(self):
        status, printed = self.run_program("nccl_test", SIMT_NCCL_FAULTS="version=21803")
        self.assertEqual(status, 77)
        self.assertRegex(printed, r"^skipped: .*2\.18\.3.*2\.19.*\n$")

    def test_a_call_that_nccl_refuses_is_a_skip_of_the_loopback_with_its_reason_and_a_failure_of_the_test(self):
        refused = {"SIMT_NCCL_FAULTS": "fail_call=1 fail_with=5"}
        status, printed = self.run_program("nccl_loopback", **refused)
        self.assertEqual(status, 77)
        self.assertRegex(printed, r"^skipped: NCCL does not let ranks share this GPU: .*ncclCommInitRankConfig.*invalid usage.*\n$")
        status, printed = self.run_program("nccl_test", **refused)
        self.assertEqual((status, printed.splitlines()[-1]), (1, "0 passed, 1 failed"))

    def test_a_rank_that_dies_while_it_joins_is_no_refusal(self):
        for fault in ("rank=1 die_at_call=1", "rank=1 fail_call=1 fail_with=6"):  # 6: a remote error
            status, printed = self.run_program("nccl_loopback", "--ranks", "3", SIMT_NCCL_FAULTS=fault)
            self.assertEqual((status, printed.splitlines()[-1]), (1, "0 passed, 1 failed"), printed)

    def test_a_rank_that_dies_fails_the_run_and_is_named(self):
        status, printed = self.run_program("nccl_loopback", "--ranks", "4", SIMT_NCCL_FAULTS="rank=2 die_at_call=40")
        self.assertEqual(status, 1)
        self.assertIn("\n  rank 2: killed by signal 9 (SIGKILL); ranks 0, 1, 3 ended as a consequence\n", printed)
        self.assertRegex(printed.splitlines()[-1], r"^\d+ passed, 1 failed$")

    # Nine calls of NCCL before it, rank 1 sends its first rows: tests/gpu/check_run_test.cpp.
    WRONG_ROW = {"SIMT_NCCL_FAULTS": "rank=1 corrupt_at_call=9"}

    def test_a_check_that_fails_is_named_and_fails_the_run_and_the_others_are_counted(self):
        status, printed = self.run_program("nccl_loopback", "--only", "layer", **self.WRONG_ROW)
        self.assertEqual((status, printed.splitlines()[-1]), (1, "5 passed, 1 failed"), printed)
        self.assertRegex(printed, r"\nFAILED layer: ranks=2 .*\n  rank 0: rows for the experts of rank 0 differ from those of ")

    def test_what_only_another_rank_got_wrong_is_found_too(self):
        # Rows that rank 0 sends back: its twelfth call of an output, its eighteenth of a gradient.
        for call, what in ((12, "outputs"), (18, "gradients")):
            status, printed = self.run_program("nccl_loopback", "--only", "layer",
                                               SIMT_NCCL_FAULTS=f"rank=0 corrupt_at_call={call}")
            self.assertEqual((status, printed.splitlines()[-1]), (1, "5 passed, 1 failed"), printed)
            self.assertIn(f"\n  rank 0: {what} of rank 1 differ from those of the virtual transport\n", printed)

    def ranks_of_environment(self, ranks, *arguments, **environment):
        started = [self.start("nccl_test", "--only", "migration", "--id-file", "id", *arguments, RANK=str(rank),
                              WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank), **environment) for rank in range(ranks)]
        return [self.end(process) for process in started]

    def test_ranks_of_the_environment_find_each_other_through_a_file_that_is_removed(self):
        ends = self.ranks_of_environment(3)
        self.assertEqual([status for status, _ in ends], [0, 0, 0], ends)
        self.assertEqual(ends[0][1].splitlines()[-1], "3 passed, 0 failed")
        self.assertEqual(ends[1][1], "")
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_every_rank_of_the_environment_fails_where_a_check_fails_on_one(self):
        ends = self.ranks_of_environment(2, "--only", "layer", **self.WRONG_ROW)
        self.assertEqual([status for status, _ in ends], [1, 1], ends)
        self.assertEqual(ends[0][1].splitlines()[-1], "5 passed, 1 failed")
        self.assertEqual(ends[1][1], "")

    def test_the_id_file_and_every_wait_have_the_deadline_of_the_command_line(self):
        began = time.monotonic()
        status, printed = self.run_program("nccl_test", "--id-file", "id", "--deadline-s", "1", RANK="1", WORLD_SIZE="2",
                                           LOCAL_RANK="1")
        self.assertEqual(status, 1)
        self.assertRegex(printed, r"^nccl_test: [^\n]*\bid\b[^\n]*\n$")
        status, printed = self.run_program("nccl_loopback", "--deadline-s", "1",
                                           SIMT_NCCL_FAULTS="rank=1 delay_at_call=9 delay=3000")
        self.assertEqual(status, 1)
        self.assertIn(" did not end within 1000 ms: ", printed)
        self.assertLess(time.monotonic() - began, 20)

    def test_an_id_file_that_cannot_be_written_or_is_there_already_is_one_line(self):
        status, printed = self.run_program("nccl_test", "--id-file", "nowhere/id", RANK="0", WORLD_SIZE="2",
                                           LOCAL_RANK="0")
        self.assertEqual(status, 1)
        self.assertRegex(printed, r"^nccl_test: .*nowhere/id.*\n$")
        (self.folder / "id").write_text("of another run\n")
        for rank in ("0", "1"):
            status, printed = self.run_program("nccl_test", "--id-file", "id", "--deadline-s", "1", RANK=rank, WORLD_SIZE="2",
                                               LOCAL_RANK=rank)
            self.assertEqual(status, 1)
            self.assertRegex(printed, r"^nccl_test: [^\n]*\bid\b[^\n]*\n$")

    def test_without_a_rank_in_the_environment_one_line_says_which_names_are_read(self):
        status, printed = self.run_program("nccl_test", "--id-file", "id")
        self.assertEqual(status, 1)
        self.assertTrue(re.match(r"nccl_test: [^\n]*WORLD_SIZE[^\n]*SLURM_NTASKS[^\n]*\n$", printed), printed)


if __name__ == "__main__":
    unittest.main()
