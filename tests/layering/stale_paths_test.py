"""stale_paths.py on texts with known mistakes."""

import tempfile
import unittest
from pathlib import Path

import stale_paths


class PlantedPaths(unittest.TestCase):
    def found(self, text, name="sim/a.h"):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            for path in ("sim/a.h", "docs/a.md", "traces/s.csv.gz"):
                (root / path).parent.mkdir(exist_ok=True)
                (root / path).write_text("")
            (root / name).write_text(text)
            return stale_paths.stale_paths(root)[0]

    def test_a_path_that_is_there(self):
        self.assertEqual(self.found("// See docs/a.md, and `traces/s.csv.gz`.\n"), [])

    def test_a_path_that_is_not(self):
        self.assertEqual(self.found("//\n// (sim/b.h)\n"), [("sim/a.h", 2, "sim/b.h")])

    def test_a_document_at_the_root(self):
        self.assertEqual(self.found("[a](docs/b.md)", "README.md"), [("README.md", 1, "docs/b.md")])

    def test_what_is_no_path_of_ours(self):
        self.assertEqual(self.found("// ns3/sim/b.h, sim/*.h, build/sim/b.h\n"), [])


if __name__ == "__main__":
    unittest.main()
