"""Prints the sources of a build that clang-tidy has to read after a change: the joint sources that include one of the files,
and for a header those of its folder.

    tidy_units.py BUILD FILE...
"""

import json
import re
import sys
from pathlib import Path

INCLUDE = re.compile(r'^#include "([^"]+)"', re.MULTILINE)


def main():
    build, files = Path(sys.argv[1]), sys.argv[2:]
    sources = {str(Path(file).resolve()) for file in files}
    folders = {str(Path(file).resolve().parent) for file in files if file.endswith(".h")}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        unit = Path(entry["file"])
        parts = {str(unit)}
        if "/Unity/" in str(unit):
            parts |= set(INCLUDE.findall(unit.read_text()))
        if parts & sources or {str(Path(part).parent) for part in parts} & folders:
            print(f"^{re.escape(str(unit))}$")


if __name__ == "__main__":
    main()
