#!/usr/bin/env python3
"""mkdocs builds the documentation without a warning, with every page in its search index. Exit status 77: no mkdocs here."""

import json
import os
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
MKDOCS = ROOT / ".venv/bin/mkdocs"


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.folder.cleanup)
        cls.site = Path(cls.folder.name)
        cls.built = subprocess.run([MKDOCS, "build", "--strict", "--site-dir", cls.site], cwd=ROOT, capture_output=True, text=True,
                                   env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "PYTHONDONTWRITEBYTECODE": "1"}, check=False)

    def test_builds_without_a_warning_and_leaves_no_page_out(self):
        self.assertEqual(self.built.returncode, 0, self.built.stderr)
        for problem in ("WARNING", "not included in the \"nav\"", "contains a link"):
            self.assertNotIn(problem, self.built.stderr)

    def test_finds_every_page_by_search(self):
        found = {entry["location"].split("#")[0] for entry in json.loads((self.site / "search/search_index.json").read_text())["docs"]}
        pages = {page.relative_to(ROOT / "docs").as_posix() for page in (ROOT / "docs").rglob("*.md") if "measurements" not in page.parts}
        expected = {page.replace("README.md", "index.md").replace(".md", ".html") for page in pages} | {"introduction.html", "contributing.html"}
        self.assertEqual({name or "index.html" for name in found}, expected)

    def test_loads_nothing_from_other_sites(self):
        text = (self.site / "index.html").read_text()
        for tag in ('<script src="http', '<link rel="stylesheet" href="http', "fonts.googleapis"):
            self.assertNotIn(tag, text)


if __name__ == "__main__":
    if not MKDOCS.exists():
        if os.environ.get("GOODPUT_REQUIRE_SITE"):
            sys.exit("no mkdocs in .venv; ./goodput-setup --dev installs it")
        print("skipped: no mkdocs in .venv; ./goodput-setup --dev installs it")
        sys.exit(77)
    unittest.main(verbosity=2)
