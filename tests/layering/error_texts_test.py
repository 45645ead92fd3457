"""error_texts.py must name each of these, and nothing else."""

import unittest
from pathlib import Path

import error_texts


def wrong(text, path="traces/spot/x.cpp"):
    return list(error_texts.errors_of(text, Path(path)))


class PlantedTexts(unittest.TestCase):
    def test_a_flag_below_tools(self):
        for text in ('f("say --meaning held|probe");', 'f("first line "\n  "--set {}: no");', "int a;  // --polarity",
                     'R"(--interval is 3)"', '/* for --to */'):
            self.assertEqual(len(wrong(text)), 1, text)
        self.assertEqual(wrong('\n\nf("--top-k");'), [
            "traces/spot/x.cpp:3: --top-k: only tools/ knows flags; say kOption and the option's key"])

    def test_what_is_no_flag(self):
        for text in ("--left;", "for (; n > 0; --n) f();", '"|---|---|"', '"a--b"', '"-- and"',
                     '// the result of `goodput whatif --json -`'):
            self.assertEqual(wrong(text), [], text)

    def test_tools_may_name_flags(self):
        self.assertEqual(wrong('f("--trials is 0");', "tools/simulate/cmd_simulate.cpp"), [])

    def test_a_message_that_is_looked_into(self):
        for text in ('if (error.what.find("x") != npos) f();', 'error.what.starts_with("layers: ")',
                     'e->what.substr(3)',
                     'if (status.error().what == "") f();', 'if ("" != status.error().what) f();',
                     "const std::string& what = layers.error().what;", "const auto what = error.what;"):
            for path in ("sim/base/x.cpp", "tools/cli/x.cpp"):
                self.assertEqual(wrong(text, path), [f"{path}:1: looks into Error::what; give the error a member that "
                                                     "says it"], text)

    def test_a_message_that_is_passed_on(self):
        for text in ("return record.error().what;", 'error.what += "; in a scenario";', "f(layers.error().what);",
                     'std::string what = error.what();  // of an exception', 'if (a == error.what()) f();'):
            self.assertEqual(wrong(text), [], text)


if __name__ == "__main__":
    unittest.main()
