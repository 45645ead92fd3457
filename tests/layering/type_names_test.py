"""Two types of one name, planted."""

import tempfile
import unittest
from pathlib import Path

import type_names


class TypeNames(unittest.TestCase):
    def repeated(self, **headers):
        with tempfile.TemporaryDirectory() as scratch:
            root = Path(scratch)
            (root / "sim").mkdir()
            for name, text in headers.items():
                (root / "sim" / f"{name}.h").write_text(text)
            return list(type_names.repeated(root))

    def test_two_headers_have_a_name(self):
        self.assertEqual(self.repeated(a="namespace x {\nstruct A {\n};\n}  // namespace x\n",
                                       b="namespace x {\nclass A final : public B {\n};\n}  // namespace x\n"),
                         ["x::A is in sim/a.h and sim/b.h"])

    def test_other_namespaces_types_within_others_and_names_alone_are_no_trouble(self):
        self.assertEqual(self.repeated(a="namespace x {\nstruct A {\n  struct B {};\n};\n}  // namespace x\n",
                                       b="namespace y {\nstruct A {\n  struct B {};\n};\n}  // namespace y\n",
                                       c="namespace x {\nstruct A;\nclass A;\n}  // namespace x\n"), [])


if __name__ == "__main__":
    unittest.main()
