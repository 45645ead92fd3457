"""Checks that every type of a header has a name of its own in its namespace: two of one name are undefined behaviour that no
compiler sees.

    type_names.py REPOSITORY

Prints a line for every name that two headers have, then fails. Types within others and those of sources are not looked at:
anonymous namespaces keep the latter apart.
"""

import argparse
import re
import sys
from pathlib import Path

ROOTS = ("sim", "models", "traces", "tools", "gpu", "tests")
NAMESPACE = re.compile(r"^namespace ([\w:]+) \{")
TYPE = re.compile(r"^(?:struct|class|enum class|union)(?: alignas\([^()]*\))? (\w+)\b[^;]*$")


def types_of(text):
    """(namespace, name) of the types that are defined in a header, not of those that are only named."""
    namespace = ""
    for line in text.splitlines():
        if match := NAMESPACE.match(line):
            namespace = match.group(1)
        elif line.startswith("}  // namespace"):
            namespace = ""
        elif match := TYPE.match(line):
            yield namespace, match.group(1)


def repeated(repository):
    headers = {}
    for root in ROOTS:
        for path in sorted((repository / root).rglob("*.h")):
            for name in types_of(path.read_text(encoding="utf-8")):
                headers.setdefault(name, []).append(str(path.relative_to(repository)))
    for (namespace, name), paths in headers.items():
        if len(set(paths)) > 1:
            yield f"{namespace}::{name} is in {' and '.join(paths)}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("repository", type=Path)
    lines = list(repeated(parser.parse_args().repository))
    print("\n".join(lines))
    return 1 if lines else 0


if __name__ == "__main__":
    sys.exit(main())
