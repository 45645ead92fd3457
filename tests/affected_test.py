"""What affected.py says of planted changes."""

import re
import unittest
from pathlib import Path

import affected

ROOT = Path(__file__).resolve().parent.parent


def excluded(*files):
    """The entries of a few kinds that a change of these files leaves out."""
    found = affected.plan(ROOT, list(files))
    pattern = re.compile(f"^({'|'.join(affected.excluded_entries(found)) or '(?!)'})$")
    kinds = ("unit.sim", "unit.models", "unit.traces", "unit.tools", "unit.gpu", "page", "monitor_chaos", "slurm", "layering")
    return [kind for kind in kinds if pattern.match(kind)]


class Affected(unittest.TestCase):
    def test_a_change_of_sim_can_break_everything_but_the_gpu_part(self):
        self.assertEqual(excluded("sim/engine/timing.cpp"), ["unit.gpu", "page", "slurm"])

    def test_a_change_of_a_policy_leaves_out_what_does_not_use_models(self):
        self.assertEqual(excluded("models/policy/lazarus.cpp"),
                         ["unit.sim", "unit.traces", "unit.gpu", "page", "monitor_chaos", "slurm"])

    def test_a_change_of_a_reader_runs_the_monitor_but_not_the_models(self):
        self.assertEqual(excluded("traces/op/csv.cpp"), ["unit.sim", "unit.models", "unit.gpu", "page", "slurm"])

    def test_a_change_of_a_page_runs_the_browser(self):
        self.assertEqual(excluded("tools/page/js/table.js"), ["unit.sim", "unit.models", "unit.traces", "unit.gpu"])

    def test_a_kernel_and_what_the_gpu_part_includes_run_the_gpu_part(self):
        self.assertNotIn("unit.gpu", excluded("gpu/combine.cu"))
        self.assertNotIn("unit.gpu", excluded("models/dispatch/dispatch_tables.cpp"))

    def test_a_test_runs_its_own_area_and_support_runs_all(self):
        self.assertEqual(excluded("tests/traces/op/csv_test.cpp"),
                         ["unit.sim", "unit.models", "unit.tools", "unit.gpu", "page", "slurm"])
        self.assertEqual(excluded("tests/support/hand_job.cpp"), ["unit.gpu"])

    def test_configs_and_the_build_run_all_but_the_gpu_part(self):
        self.assertEqual(excluded("configs/plans/gpt-s-10.json"), ["unit.gpu"])
        self.assertEqual(excluded("CMakeLists.txt"), ["unit.gpu"])

    def test_everything_runs_if_git_cannot_tell(self):
        found = affected.plan(ROOT, None)
        self.assertEqual(affected.excluded_entries(found), [])

    def test_docs_alone_run_the_checks_of_sources_and_docs(self):
        self.assertEqual(excluded("docs/design.md"), ["unit.sim", "unit.models", "unit.traces", "unit.tools", "unit.gpu",
                                                      "page", "monitor_chaos", "slurm"])


if __name__ == "__main__":
    unittest.main()
