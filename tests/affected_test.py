"""What affected.py says of planted changes."""

import re
import unittest
from pathlib import Path

import affected

ROOT = Path(__file__).resolve().parent.parent


def excluded(*files):
    """The entries of a few kinds that a change of these files leaves out."""
    found = affected.plan(ROOT, list(files))
    pattern = re.compile(f"^({'|'.join(found['excluded']) or '(?!)'})$")
    kinds = ("unit.sim.causes", "unit.sim.engine", "unit.models.policy", "release-only.traces.op", "unit.traces.spot",
             "slow.tools.simulate", "unit.tools.monitor_store", "unit.reference", "unit.gpu", "page", "monitor_page", "monitor_chaos",
             "slurm", "layering")
    return [kind for kind in kinds if pattern.match(kind)]


class Affected(unittest.TestCase):
    def test_a_change_of_a_folder_runs_what_may_include_it_and_what_tests_it(self):
        self.assertEqual(excluded("sim/causes/passes.cpp"),
                         ["unit.sim.engine", "unit.models.policy", "release-only.traces.op", "unit.traces.spot",
                          "unit.reference", "unit.gpu", "page", "monitor_page", "slurm"])
        self.assertEqual(excluded("sim/engine/timing.cpp"),
                         ["unit.traces.spot", "unit.gpu", "page", "monitor_page", "slurm"])

    def test_a_change_of_sim_base_runs_all_unit_tests(self):
        self.assertEqual(excluded("sim/base/json.cpp"), ["page", "monitor_page", "slurm"])

    def test_a_change_of_a_policy_leaves_out_what_does_not_use_it(self):
        self.assertEqual(excluded("models/policy/lazarus.cpp"),
                         ["unit.sim.causes", "unit.sim.engine", "release-only.traces.op", "unit.traces.spot",
                          "unit.tools.monitor_store", "unit.gpu", "page", "monitor_page", "monitor_chaos", "slurm"])

    def test_a_change_of_a_reader_runs_the_monitor_but_not_the_models(self):
        self.assertEqual(excluded("traces/op/csv.cpp"),
                         ["unit.sim.causes", "unit.sim.engine", "unit.models.policy", "unit.traces.spot",
                          "unit.tools.monitor_store", "unit.gpu", "page", "slurm"])

    def test_a_change_of_a_page_runs_the_browser(self):
        found = excluded("tools/page/js/table.js")
        self.assertTrue({"page", "monitor_page", "monitor_chaos"}.isdisjoint(found) and "unit.sim.engine" in found)

    def test_a_test_of_pages_runs_the_browser(self):
        self.assertNotIn("monitor_page", excluded("tests/page/monitor_test.py"))

    def test_a_kernel_and_what_the_gpu_part_includes_run_the_gpu_part(self):
        self.assertNotIn("unit.gpu", excluded("gpu/combine.cu"))
        self.assertNotIn("unit.gpu", excluded("models/dispatch/dispatch_tables.cpp"))

    def test_a_test_runs_its_own_folder_and_support_what_includes_it(self):
        alone = excluded("tests/traces/op/csv_test.cpp")
        self.assertNotIn("release-only.traces.op", alone)
        self.assertTrue({"unit.sim.causes", "unit.traces.spot", "unit.reference"} <= set(alone))
        support = excluded("tests/support/policy_case.cpp")
        self.assertNotIn("unit.models.policy", support)
        self.assertIn("unit.traces.spot", support)

    def test_what_may_be_part_of_anything_runs_all_but_the_gpu_part(self):
        for path in ("configs/plans/gpt-s-10.json", "CMakeLists.txt", "tests/CMakeLists.txt", "tests/main.cpp",
                     "traces/samples/healthy.csv", "tests/support/doctest_implementation.cpp", "tests/traces/op/new_rows.csv"):
            self.assertEqual(excluded(path), ["unit.gpu"], path)

    def test_everything_runs_if_git_cannot_tell(self):
        self.assertEqual(affected.plan(ROOT, None)["excluded"], [])

    def test_docs_alone_run_the_checks_of_sources_and_docs(self):
        self.assertEqual(set(excluded("docs/design.md")) & {"layering", "unit.gpu", "page", "unit.sim.engine"},
                         {"unit.gpu", "page", "unit.sim.engine"})


if __name__ == "__main__":
    unittest.main()
