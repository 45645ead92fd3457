"""design_map.py on maps with known mistakes."""

import tempfile
import unittest
from pathlib import Path

import design_map


class PlantedMap(unittest.TestCase):
    def found(self, *rows):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path, text in (("sim/a/x.h", "struct Exact {};\n"), ("tools/b/y.cpp", "int count_all() { return 0; }\n"),
                               ("traces/samples/s.csv", "1\n"), ("docs/design.md", "\n".join(rows) + "\n")):
                (root / path).parent.mkdir(parents=True, exist_ok=True)
                (root / path).write_text(text)
            return design_map.check(root)[0]

    def test_a_map_that_is_right(self):
        self.assertEqual(self.found("| sim/a | what | `Exact` |", "| tools/b | `z` is free text | `count_all()` |"), [])

    def test_a_folder_without_a_row(self):
        self.assertEqual(self.found("| sim/a | what | |"), ["docs/design.md: tools/b has no row in the map"])

    def test_a_row_without_a_folder(self):
        self.assertEqual(self.found("| sim/{a,c} | what | |", "| tools/b | what | |"),
                         ["docs/design.md:1: there is no folder sim/c"])

    def test_a_name_that_is_not_in_the_folder(self):
        self.assertEqual(self.found("| sim/a | what | `Exactly`, `count_all()` |", "| tools/b | what | |"),
                         ["docs/design.md:1: sim/a has no Exactly", "docs/design.md:1: sim/a has no count_all"])


if __name__ == "__main__":
    unittest.main()
