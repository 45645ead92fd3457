"""Plants long files and functions in a scratch repository; sizes.py must name each, and nothing else."""

import sys
import tempfile
import unittest
from pathlib import Path

import sizes

LONG = sizes.LONGEST_FUNCTION


def body(lines):
    return "  step();\n" * lines


class PlantedSizes(unittest.TestCase):
    def errors(self, text, path="sim/base/planted.cpp"):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / path
            file.parent.mkdir(parents=True)
            file.write_text(text)
            return sizes.check(Path(folder))

    def test_a_file_of_a_line_too_many(self):
        self.assertEqual(self.errors("\n" * sizes.LONGEST_FILE), [])
        self.assertEqual(self.errors("\n" * (sizes.LONGEST_FILE + 1)),
                         ["sim/base/planted.cpp: 901 lines, more than 900: split it by subject"])

    def test_a_function_of_a_line_too_many(self):
        self.assertEqual(self.errors("void run() {\n" + body(LONG - 2) + "}\n"), [])
        self.assertEqual(self.errors("\nvoid run() {\n" + body(LONG - 1) + "}\n"),
                         ["sim/base/planted.cpp:2: run() has 81 lines, more than 80"])

    def test_a_signature_counts(self):
        text = "template <typename Type>\nvoid Engine::run(int a = 1,\n    Type b = {}) {\n" + body(LONG - 3) + "}\n"
        self.assertEqual(self.errors(text), ["sim/base/planted.cpp:1: Engine::run() has 81 lines, more than 80"])

    def test_methods_in_namespaces_and_classes(self):
        text = ("namespace goodput {\nnamespace {\nclass Engine final : public Part {\n public:\n  Engine() : a_{1}, b_(2) {\n" +
                body(LONG) + "  }\n  int small() const { return 1; }\n};\n}\n}\n")
        self.assertEqual(self.errors(text), ["sim/base/planted.cpp:5: Engine() has 82 lines, more than 80"])

    def test_a_kernel(self):
        text = "__global__ void __launch_bounds__(256)\n    copy(int n) {\n" + body(LONG) + "}\n"
        self.assertEqual(self.errors(text, "gpu/copy.cu"), ["gpu/copy.cu:1: copy() has 83 lines, more than 80"])

    def test_braces_in_texts_and_comments_and_directives(self):
        text = ("// {\n/* { */\n#define OPEN {\nvoid run() {\n  say(\"{\", '{', '\"', R\"(\"{)\", 1'000);\n}\nvoid next() {\n" +
                body(LONG) + "}\n")
        self.assertEqual(self.errors(text), ["sim/base/planted.cpp:7: next() has 82 lines, more than 80"])

    def test_a_long_table_or_class_is_no_function(self):
        self.assertEqual(self.errors("constexpr int kTable[] = {\n" + "  1,\n" * 100 + "};\n"), [])
        self.assertEqual(self.errors("struct Facts {\n" + "  int fact(int of) const;\n" * 100 + "};\n"), [])

    def test_tests_may_be_longer(self):
        self.assertEqual(self.errors("void run() {\n" + body(LONG) + "}\n", "gpu/test/planted.cpp"), [])

    def test_braces_that_do_not_match_are_not_passed_over(self):
        self.assertEqual(self.errors("void run() {\n"), ["sim/base/planted.cpp: cannot be read: more braces open than close"])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
