"""Plants violations in a copy of the repository; layering.py must name each, and nothing else."""

import argparse
import shutil
import sys
import tempfile
import unittest
from pathlib import Path

import layering

REPOSITORY = None
TABLE = (Path(__file__).parent / "layering.txt").read_text()


def may_not(path, included, *allowed):
    folder = path.rpartition("/")[0]
    return (f'{path}: #include "{included}": {folder} may include only itself' +
            "".join(f", {name}" for name in allowed))


class PlantedViolations(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = Path(cls.temporary.name)
        for folder in layering.ROOTS:
            shutil.copytree(REPOSITORY / folder, cls.root / folder,
                            ignore=lambda folder, names: [n for n in names if n in ("samples", "corpus", "scenarios")])

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def plant(self, path, text):
        file = self.root / path
        before = file.read_text() if file.exists() else None
        file.parent.mkdir(exist_ok=True)
        file.write_text((before or "") + text)

        def undo():
            if before is not None:
                file.write_text(before)
            elif file.parent.exists():
                file.unlink()
                if not any(file.parent.iterdir()):
                    file.parent.rmdir()
        self.addCleanup(undo)

    def errors(self, table=TABLE):
        return layering.check(self.root, table)[0]

    def test_the_repository_is_as_the_table_says(self):
        self.assertEqual(self.errors(), [])

    def test_an_include_against_the_order_of_folders(self):
        self.plant("sim/base/random.cpp", '#include "sim/config/config.h"\n')
        self.assertEqual(self.errors(), [may_not("sim/base/random.cpp", "sim/config/config.h")])

    def test_an_include_of_another_library(self):
        self.plant("sim/nodes/membership.h", '#include "models/failure/failure_models.h"\n')
        self.assertIn(may_not("sim/nodes/membership.h", "models/failure/failure_models.h"), self.errors())

    def test_an_include_of_a_neighbour(self):
        self.plant("tools/plan_step/plan_step_text.cpp", '  #  include "tools/whatif/whatif_report.h" // indented\n')
        self.assertTrue(self.errors()[0].startswith(
            'tools/plan_step/plan_step_text.cpp: #include "tools/whatif/whatif_report.h": tools/plan_step may include only'))

    def test_angle_brackets_hide_nothing(self):
        self.plant("models/cost/roofline.cpp", "#include <models/plan/training_plan.h>\n")
        self.assertEqual(self.errors(), [may_not("models/cost/roofline.cpp", "models/plan/training_plan.h",
                                                 "sim/config", "sim/machine")])

    def test_a_type_that_comes_through_another_header(self):
        self.plant("models/scenario/simulation.cpp", "const goodput::ModelShape* shape = nullptr;\n")
        self.assertEqual(len(self.errors()), 1)
        self.assertRegex(self.errors()[0], r"^models/scenario/simulation\.cpp: uses ModelShape through models/scenario/simulation\.cpp -> "
                                           r".* -> models/shape/model_shape\.h: models/scenario may include only itself")

    def test_a_type_that_nothing_included_has(self):
        self.plant("models/cost/measured_curve.cpp", "const goodput::Calibration* calibration = nullptr;\n")
        self.assertEqual(self.errors(), ["models/cost/measured_curve.cpp: names Calibration, but includes nothing "
                                         "that includes models/cost/calibration.h"])

    def test_gpu_reaches_the_simulator_through_the_one_header_it_shares(self):
        self.plant("models/dispatch/dispatch.h", '#include "sim/base/units.h"\n')
        self.assertIn("gpu/element.h: reaches gpu/element.h -> models/dispatch/dispatch.h -> sim/base/units.h: "
                      "gpu may include only itself, models/dispatch/dispatch.h, models/dispatch/euclid_chain.h",
                      self.errors())

    def test_a_folder_of_gpu_reaches_what_another_may_include(self):
        self.plant("gpu/bench/judgement.cpp", '#include "gpu/schedule.h"\n')  # which includes euclid_chain.h
        self.assertEqual(self.errors(), [])

    def test_gpu_includes_the_simulator(self):
        self.plant("gpu/report.h", '#include "sim/base/errors.h"\n')
        self.assertIn(may_not("gpu/report.h", "sim/base/errors.h", "models/dispatch/dispatch.h",
                              "models/dispatch/euclid_chain.h"), self.errors())

    def test_a_cycle_of_two_headers(self):
        self.plant("sim/ops/op_type.h", '#include "sim/ops/op_trace.h"\n')
        self.assertEqual(self.errors(), ["a cycle of includes: sim/ops/op_trace.h -> sim/ops/op_type.h -> "
                                         "sim/ops/op_trace.h"])

    def test_a_cycle_of_folders_in_the_table(self):
        table = TABLE.replace("sim/nodes:\n", "sim/nodes: sim/job\n")
        errors = self.errors(table)
        self.assertRegex(errors[0], r"^layering\.txt:\d+: sim/nodes may not include sim/job: no row above, so a cycle$")

    def test_production_includes_tests(self):
        self.plant("traces/io/decimal.cpp", '#include "tests/support/hand_job.h"\n')
        self.assertIn(may_not("traces/io/decimal.cpp", "tests/support/hand_job.h"), self.errors())

    def test_a_slow_library_in_a_header(self):
        self.plant("tools/cli/command.h", "#include <CLI/CLI.hpp>\n")
        self.assertEqual(self.errors(), ["tools/cli/command.h: #include <CLI/CLI.hpp>: too slow to compile for a "
                                         "header; include it in the .cpp"])

    def test_a_path_that_does_not_start_at_the_root(self):
        self.plant("sim/job/job_log.h", '#include "job_engine.h"\n')
        self.assertEqual(self.errors(), ['sim/job/job_log.h: #include "job_engine.h": no such file; paths start at '
                                         "the root"])

    def test_a_folder_without_a_row(self):
        self.plant("models/misc/odd.h", "#pragma once\n")
        self.assertEqual(self.errors(), ["models/misc/odd.h: no row for models/misc in layering.txt"])

    def test_a_row_that_nothing_needs_any_more(self):
        table = TABLE.replace("traces/io:\n", "traces/io: sim/ops\n")
        self.assertEqual(self.errors(table), ["layering.txt: traces/io no longer needs sim/ops"])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("repository", type=Path)
    arguments, rest = parser.parse_known_args()
    REPOSITORY = arguments.repository
    unittest.main(argv=[sys.argv[0], *rest])
