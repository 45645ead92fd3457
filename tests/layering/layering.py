"""Checks who includes whom, by the table in layering.txt, and what headers may drag in.

    layering.py --table layering.txt REPOSITORY

Prints a line for everything that is wrong, then fails. A folder uses another one by including a header of it, or by
naming a type of it that it reaches through the includes of other headers. A type that it does not reach at all would
come from the files that it is compiled together with.
"""

import argparse
import itertools
import re
import sys
from collections import deque
from dataclasses import dataclass, field
from pathlib import Path

ROOTS = ("sim", "models", "traces", "tools", "gpu", "tests")
OPEN_TO_ALL = "sim/base"
CLOSED_TO = ("gpu",)  # which stands alone
GENERATED = {"goodput_revision.h"}
# Each takes a second or more to compile.
SLOW_TO_COMPILE = re.compile(r"(nlohmann/json\.hpp|boost/.*|CLI/.*|arrow/.*|parquet/.*|yaml-cpp/.*|toml\+\+/.*|simdjson\.h)$")

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(["<])([^">\n]+)[">]', re.MULTILINE)
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:[^"\\\n]|\\.)*"', re.DOTALL)
# At the margin: in a namespace, not in a class.
EXPORTED = re.compile(r"^(?:(?:struct|class|enum class|enum)\s+(\w+)\b(?![^\n]*;\s*$)|using (\w+) =)", re.MULTILINE)
# Anywhere, template parameters too: the name is the file's own.
OWN = re.compile(r"\b(?:struct|class|enum class|enum|typename|using)\s+(\w+)(?![^\n]*;\s*$)")


def folder_of(path):
    return path.rpartition("/")[0]


@dataclass
class Row:
    folder: str
    allowed: list  # folders and files, in the order of the table


@dataclass
class Source:
    path: str
    folder: str  # its row's
    includes: list = field(default_factory=list)  # of ours, by path from the root
    system: list = field(default_factory=list)
    exported: set = field(default_factory=set)  # types that who includes it can name
    own: set = field(default_factory=set)  # names that mean something of its own here
    words: set = field(default_factory=set)


def read_table(text):
    """The rows by folder, and what is wrong with them."""
    rows, errors = {}, []
    for number, line in enumerate(text.splitlines(), 1):
        line = line.partition("#")[0].strip()
        if not line:
            continue
        folder, _, entries = line.partition(":")
        expanded = []
        for entry in re.findall(r"[^\s{}]*\{[^}]*\}|\S+", entries):
            stem, brace, names = entry.partition("{")
            expanded += [stem + name for name in names.rstrip("}").split()] if brace else [entry]
        if folder in rows:
            errors.append(f"layering.txt:{number}: a second row for {folder}")
        for entry in expanded:
            if entry != "everything" and entry not in rows and folder_of(entry) not in rows:
                errors.append(f"layering.txt:{number}: {folder} may not include {entry}: no row above, so a cycle")
        if expanded == ["everything"]:
            expanded = list(rows)
        rows[folder] = Row(folder, expanded)
    return rows, errors


def row_of(path, rows):
    """The nearest folder above with a row, or the folder itself."""
    folder = folder_of(path)
    while folder and folder not in rows:
        folder = folder_of(folder)
    return folder or folder_of(path)


def read_sources(root, rows):
    sources = {}
    for path in itertools.chain.from_iterable((root / top).rglob("*") for top in ROOTS):
        if path.suffix not in (".h", ".cpp", ".cu", ".cuh", ".def"):
            continue
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        source = sources[name] = Source(name, row_of(name, rows))
        for quote, included in INCLUDE.findall(text):
            ours = quote == '"' or included.split("/")[0] in ROOTS
            (source.includes if ours else source.system).append(included)
        bare = COMMENT_OR_TEXT.sub(" ", INCLUDE.sub("", text))
        source.exported = {struct or alias for struct, alias in EXPORTED.findall(bare)}
        source.own = source.exported | set(OWN.findall(bare))
        source.words = set(re.findall(r"\b[A-Za-z_]\w*\b", bare))
    return sources


def folder_allows(rows, user, path):
    folder = row_of(path, rows)
    if folder == user or folder == OPEN_TO_ALL and user.split("/")[0] not in CLOSED_TO:
        return True
    row = rows.get(user)
    return row is not None and (folder in row.allowed or path in row.allowed)


def allows(rows, source, path):
    return folder_allows(rows, source.folder, path)


def may_text(rows, folder):
    allowed = rows[folder].allowed if folder in rows else []
    return f"{folder} may include only itself" + "".join(f", {name}" for name in allowed)


def check_places(rows, sources):
    errors = []
    used = {source.folder for source in sources.values()}
    for source in sources.values():
        if source.folder not in rows:
            errors.append(f"{source.path}: no row for {source.folder} in layering.txt")
        elif folder_of(source.path) != source.folder and source.folder.split("/")[0] != "tests":
            errors.append(f"{source.path}: no row for {folder_of(source.path)} in layering.txt")
    errors += [f"layering.txt: no such folder {folder}" for folder in rows if folder not in used]
    return errors


def check_includes(rows, sources):
    errors = []
    for source in sources.values():
        for included in source.includes:
            if included in GENERATED:
                continue
            if included not in sources:
                errors.append(f'{source.path}: #include "{included}": no such file; paths start at the root')
            elif source.folder in rows and not allows(rows, source, included):
                errors.append(f'{source.path}: #include "{included}": {may_text(rows, source.folder)}')
        if not source.path.endswith(".cpp"):
            errors += [f"{source.path}: #include <{included}>: too slow to compile for a header; include it in the .cpp"
                       for included in source.system if SLOW_TO_COMPILE.match(included)]
    return errors


def reached(source, sources):
    """What is included through others: path -> who includes it."""
    via, queue = {}, deque([source.path])
    while queue:
        path = queue.popleft()
        for included in sources[path].includes:
            if included in sources and included not in via and included != source.path:
                via[included] = path
                queue.append(included)
    return via


def chain(via, source, path):
    steps = [path]
    while steps[-1] != source.path:
        steps.append(via[steps[-1]])
    return " -> ".join(reversed(steps))


def definitions(sources):
    """The headers that define a type, by its name."""
    found = {}
    for source in sources.values():
        if source.path.endswith((".h", ".cuh")) and source.folder != "tests":
            for name in source.exported:
                found.setdefault(name, []).append(source.path)
    return found


def check_used_types(rows, sources):
    """The types of other folders that a file names without including them, and what every folder uses."""
    errors, uses = [], {folder: set() for folder in rows}
    defined_by = definitions(sources)
    for source in sources.values():
        if source.folder not in rows or source.folder == "tests":
            continue
        via = reached(source, sources)
        uses[source.folder].update(included for included in source.includes if included in sources)
        for name in sorted(source.words & defined_by.keys() - source.own):
            headers = [header for header in defined_by[name] if header in via]
            uses[source.folder].update(headers)
            if headers and not any(allows(rows, source, header) for header in headers):
                errors.append(f"{source.path}: uses {name} through {chain(via, source, headers[0])}: "
                              f"{may_text(rows, source.folder)}")
    return errors, uses


def check_included(rows, sources):
    """Types of headers that a file may include but does not: only files compiled together with it bring them."""
    errors = []
    defined_by = definitions(sources)
    for source in sources.values():
        if source.folder not in rows or source.folder == "tests" or source.path.endswith(".def"):
            continue
        via = reached(source, sources)
        known = source.own.union(*(sources[path].own for path in via))
        errors += [f"{source.path}: names {name}, but includes nothing that includes {header}"
                   for name in sorted(source.words & defined_by.keys() - known)
                   for header in defined_by[name][:1] if allows(rows, source, header)]
    return errors


def check_closed(rows, sources):
    """Folders that stand alone reach nothing that none of them may include, through nobody."""
    errors = []
    for source in sources.values():
        root = source.folder.split("/")[0]
        if root in CLOSED_TO:
            via = reached(source, sources)
            together = [folder for folder in rows if folder.split("/")[0] == root]
            errors += [f"{source.path}: reaches {chain(via, source, path)}: {may_text(rows, source.folder)}"
                       for path in via if path not in source.includes
                       and not any(folder_allows(rows, folder, path) for folder in together)]
    return errors


def check_needed(rows, uses):
    errors = []
    for folder, row in rows.items():
        if folder in ("tests", "tools"):
            continue
        used = {row_of(path, rows) for path in uses[folder]} | uses[folder]
        errors += [f"layering.txt: {folder} no longer needs {entry}" for entry in row.allowed if entry not in used]
    return errors


def check_cycles(sources):
    """One line a cycle of includes, named from the file that is first in the alphabet."""
    errors, state, path = [], {}, []

    def visit(name):
        state[name] = "open"
        path.append(name)
        for included in sources[name].includes:
            if state.get(included) == "open":
                cycle = path[path.index(included):]
                first = cycle.index(min(cycle))
                cycle = cycle[first:] + cycle[:first]
                errors.append("a cycle of includes: " + " -> ".join([*cycle, cycle[0]]))
            elif included in sources and included not in state:
                visit(included)
        path.pop()
        state[name] = "done"

    for name in sorted(sources):
        if name not in state:
            visit(name)
    return errors


def check(root, table):
    """(what is wrong, number of includes)"""
    rows, errors = read_table(table)
    sources = read_sources(root, rows)
    errors += check_places(rows, sources) + check_includes(rows, sources)
    wrong_uses, uses = check_used_types(rows, sources)
    errors += wrong_uses + check_included(rows, sources) + check_closed(rows, sources) + check_needed(rows, uses) + check_cycles(sources)
    return errors, sum(len(source.includes) for source in sources.values())


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--table", type=Path, required=True)
    parser.add_argument("repository", type=Path)
    arguments = parser.parse_args()
    errors, includes = check(arguments.repository, arguments.table.read_text())
    for error in errors:
        print(error)
    if errors or includes == 0:
        sys.exit(f"{len(errors)} wrong in {includes} includes")
    print(f"{includes} includes checked")


if __name__ == "__main__":
    main()
