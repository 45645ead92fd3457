"""unused_symbols.py on a program with known symbols that nobody uses.

    unused_symbols_test.py COMPILER
"""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import unused_symbols

COMPILER = "c++"

HEADER = """
namespace goodput {
struct Shape { virtual ~Shape(); virtual int sides() const; Shape(); int corners() const; };
int used(); int unused(); int of_unused(); int through_table();
extern const int kUnusedTable[2];
inline int inline_used() { return 1; }
inline int inline_unused() { return 2; }
inline constexpr int kUnused = 3;
}
"""
# Compiled together: used() is called from its own file, and from there alone.
SOURCE = """
#include "sim/a.h"
namespace goodput {
Shape::Shape() = default;
Shape::~Shape() = default;
int Shape::sides() const { return 0; }
int Shape::corners() const { return 0; }
namespace { int hidden() { return used(); } }
int used() { return inline_used(); }
int unused() { return of_unused(); }
int of_unused() { return 1; }
int through_table() { return 1; }
static int (*const table[])() = {through_table};
extern const int kUnusedTable[2] = {1, 2};
int run() { return hidden() + table[0]() + Shape().sides(); }
}
int main() { return goodput::run(); }
"""


class PlantedSymbols(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.root = Path(cls.temporary.name)
        (cls.root / "sim").mkdir()
        (cls.root / "sim/a.h").write_text(HEADER)
        (cls.root / "sim/a.cpp").write_text(SOURCE)
        cls.object = cls.root / "a.o"
        subprocess.run([COMPILER, "-std=c++17", "-O0", "-c", "-I", cls.root, "-o", cls.object, cls.root / "sim/a.cpp"], check=True)

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_what_main_does_not_lead_to_is_found(self):
        self.assertEqual(
            unused_symbols.unused_symbols([self.object]),
            ["goodput::Shape::corners() const", "goodput::kUnusedTable", "goodput::of_unused()", "goodput::unused()"],
        )

    def test_names_that_only_their_header_has_are_found(self):
        sources = unused_symbols.sources_of(self.root)
        self.assertEqual(
            unused_symbols.unused_names(sources), [("sim/a.h", "inline_unused"), ("sim/a.h", "kUnused")]
        )

    def test_exceptions_are_headers_and_are_to_be_needed(self):
        self.assertEqual(unused_symbols.findings(self.root, {"sim/a.h"}, [self.object]), [])
        errors = unused_symbols.findings(self.root, {"sim/gone.h"}, [self.object])
        self.assertIn("sim/gone.h: excepted, but there is no such header", errors)
        (self.root / "sim/b.h").write_text("// nothing")
        self.assertIn(
            "sim/b.h: is used, needs no exception",
            unused_symbols.findings(self.root, {"sim/a.h", "sim/b.h"}, [self.object]),
        )

    def test_of_inlined_objects_a_function_that_is_named_once_more_counts_as_used(self):
        def functions(inlined):
            errors = unused_symbols.findings(self.root, set(), [self.object], inlined)
            return [error.split(":  ")[0].partition(": only")[0] for error in errors if "()" in error]

        self.assertEqual(functions(False), ["goodput::Shape::corners() const", "goodput::of_unused()", "goodput::unused()"])
        self.assertEqual(functions(True), ["goodput::Shape::corners() const", "goodput::unused()"])

    def test_the_names_of_a_symbol(self):
        self.assertEqual(unused_symbols.names_in("goodput::moe::apportion(std::vector<int>&)"), {"apportion"})
        self.assertEqual(unused_symbols.names_in("goodput::StepEngine::run(int) const"), {"StepEngine", "run"})


if __name__ == "__main__":
    COMPILER = sys.argv.pop()
    unittest.main()
