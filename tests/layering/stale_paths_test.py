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


class PlantedLinks(unittest.TestCase):
    def found(self, text):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "docs/more").mkdir(parents=True)
            (root / "docs/a.md").write_text("# A page\n```\n# no heading\n```\n## `b_c` x: d/1, [e](a.md)?\n"
                                            "## Twice\n## Twice\n")
            (root / "docs/more/b.md").write_text(text)
            return stale_paths.stale_links(root)[0]

    def test_what_is_there(self):
        self.assertEqual(self.found("# B\n[a](../a.md), [](../a.md#a-page), [](#b), [](../), [w](https://x.y/z#a)\n"), [])

    def test_a_file_that_is_not(self):
        self.assertEqual(self.found("\n[a](a.md)\n"), [("docs/more/b.md", 2, "docs/more/a.md")])

    def test_an_anchor_that_is_not(self):
        self.assertEqual(self.found("[a](../a.md#b)\n"), [("docs/more/b.md", 1, "docs/a.md#b")])
        self.assertEqual(self.found("[a](#b)\n"), [("docs/more/b.md", 1, "docs/more/b.md#b")])
        self.assertEqual(self.found("[a](../a.md#no-heading)\n"), [("docs/more/b.md", 1, "docs/a.md#no-heading")])

    def test_anchors_are_named_as_github_does(self):
        self.assertEqual(self.found("[](../a.md#b_c-x-d1-e) [](../a.md#twice) [](../a.md#twice-1)\n"), [])
        self.assertEqual(len(self.found("[](../a.md#twice-2)\n")), 1)

    def test_what_is_outside_the_repository(self):
        self.assertEqual(self.found("[a](../../../x.md)\n"), [("docs/more/b.md", 1, "../x.md")])

    def test_code_holds_no_links(self):
        self.assertEqual(self.found("`[a](b)`\n```\n[a](b)\n```\n\n    [a](b)\n"), [])


if __name__ == "__main__":
    unittest.main()
