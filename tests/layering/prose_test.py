"""Plants what prose.py has to find, and what it has to accept."""

import sys
import tempfile
import unittest
import unittest.mock
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import prose  # noqa: E402

LONG = " ".join(["word"] * 31)


class Prose(unittest.TestCase):
    def found(self, text, name="sim/a.cpp", exceptions=()):
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder)
            (root / "README.md").write_text("")
            (root / "CONTRIBUTING.md").write_text("")
            (root / name).parent.mkdir(exist_ok=True, parents=True)
            (root / name).write_text(text)
            return list(prose.check(root, list(exceptions)))

    def test_finds_every_pattern_in_a_message_and_names_its_line(self):
        for text in ("a host who is slow", "7 is no integer", "done with 95 %", "is a cause no matter of ops", "is 7, want 8 at most",
                     "analysed the colour"):
            with self.subTest(text):
                self.assertIn("sim/a.cpp:2: ", self.found(f'\nError{{"{text}"}};')[0])

    def test_finds_a_pattern_across_joined_literals(self):
        self.assertEqual(len(self.found('Error{"a host "\n      "who is slow"};')), 1)

    def test_accepts_comments_and_statements_for_a_database_and_good_english(self):
        for text in ("// a host who waits", 'run("SELECT who FROM hosts");', 'Error{"there is no host"};', 'Error{"is no longer there"};',
                     'Error{"95 % of the runs, with 5 % more"};'):
            with self.subTest(text):
                self.assertEqual(self.found(text), [])

    def test_limits_sentences_to_thirty_words(self):
        self.assertIn("31 words, at most 30", self.found(f"{LONG}.", "docs/a.md")[0])
        self.assertEqual(self.found(f"{LONG[5:]}. And another one.", "docs/a.md"), [])
        self.assertEqual(self.found(f"| {LONG} |\n\n# {LONG}\n\n    {LONG}\n\n```text\n{LONG}\n```", "docs/a.md"), [])
        self.assertEqual(self.found(f"A list:\n\n- {LONG[5:]}\n- {LONG[5:]}", "docs/a.md"), [])

    def test_counts_a_code_span_as_one_word_and_a_link_as_its_text(self):
        self.assertEqual(self.found(f"`{LONG}` and [{LONG[100:]}](a.md).", "docs/a.md"), [])

    def test_ends_a_message_at_a_semicolon(self):
        self.assertEqual(self.found(f'Error{{"{LONG[5:]}; {LONG[5:]}"}};'), [])

    @unittest.mock.patch.object(prose, "MAX_EXCEPTIONS", 1)
    def test_refuses_a_list_of_exceptions_that_grew_or_is_stale(self):
        self.assertEqual(self.found(f"{LONG}.", "docs/a.md", ["docs/a.md: " + " ".join(["word"] * 8)]), [])
        self.assertIn("no such sentence any more", self.found("Short.", "docs/a.md", ["docs/a.md: gone"])[0])
        many = [f"docs/a.md: {number}" for number in range(prose.MAX_EXCEPTIONS + 1)]
        self.assertIn("rewrite the sentence instead", self.found("Short.", "docs/a.md", many)[0])


if __name__ == "__main__":
    unittest.main()
