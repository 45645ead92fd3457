"""examples.py on a page with known mistakes."""

import tempfile
import unittest
from pathlib import Path

import examples


class PlantedExamples(unittest.TestCase):
    def wrong(self, text):
        with tempfile.TemporaryDirectory() as folder:
            page = Path(folder) / "page.md"
            page.write_text(text)
            return examples.check(page, Path(folder), Path("/bin/goodput"))[0]

    def test_what_is_printed(self):
        self.assertEqual(self.wrong("Text:\n\n    $ echo a; echo b\n    a\n    b\n\nMore.\n"), [])

    def test_what_is_not(self):
        self.assertEqual(self.wrong("    $ echo a\n    b\n"), ["page.md: $ echo a\nprints\na\n"])

    def test_more_than_is_shown(self):
        self.assertEqual(len(self.wrong("    $ echo a; echo b\n    a\n")), 1)

    def test_dots_stand_for_any_lines_between_the_others(self):
        text = "    $ seq 5\n    ...\n    2\n    ...\n    {}\n    ...\n"
        self.assertEqual(self.wrong(text.format(4)), [])
        self.assertEqual(len(self.wrong(text.format(1))), 1)

    def test_a_file_that_is_not_there_is_made(self):
        self.assertEqual(self.wrong("    $ cat a.txt\n    1\n    $ wc -l < a.txt\n    1\n\n    $ cat a.txt\n    1\n"), [])
        self.assertEqual(len(self.wrong("    $ echo 2 > a.txt\n    $ cat a.txt\n    1\n")), 1)

    def test_other_blocks_are_no_examples(self):
        self.assertEqual(self.wrong("    false\n\nText.\n    $ exit\n"), [])


if __name__ == "__main__":
    unittest.main()
