"""What a change can affect: which ctest entries, headers and clang-tidy units the usual ./run-tests runs.

    affected.py REPOSITORY [--since REVISION]

Prints shell assignments: `excluded` (a regular expression of ctest entries that cannot be affected), `has_gpu`, `headers`,
`sources` (changed, to be read by clang-tidy), and `left_out` (one line for people). A
change is what differs from the newest commit that is older than a day, uncommitted files included. If git cannot tell,
everything has changed.

The unit tests of a folder are affected by a change of what they are made of: the files of tests/ that they include, the
folders of those headers, and all folders that those may include (tests/layering/layering.txt).
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent / "layering"))
import layering  # noqa: E402

PRODUCT = ("sim", "models", "traces", "tools")
# Folders that only the GPU part has. What else it includes is found by following its includes.
GPU_FOLDERS = ("gpu/", "tests/gpu/", "tests/simt/", "tests/cuda/", "cmake/GoodputCuda.cmake", "cmake/GoodputNccl.cmake")
# Entries that only the GPU part can break.
GPU_ENTRIES = r"gpu\..*|(unit|slow|release-only)\.(gpu|simt)|gpu_emulated\..*|kernel_gates.*|machine_code.*|nccl_.*|cublas_library|gpu_option|on_device|attention|shared_header.*"
# Entries, and where the changes are that can break them. An entry that no row names, and that is no unit test, always runs.
ENTRIES = (
    (r"page", ("tools/", "tests/page/", "sim/analysis/", "models/analysis/")),
    (r"monitor_(page|push|hostile)", ("tools/", "traces/", "sim/live/", "sim/analysis/", "tests/page/", "tests/monitor/")),
    (r"monitor_(chaos|alerts)", ("tools/", "traces/", "sim/", "models/analysis/", "models/megatron/", "tests/monitor/")),
    (r"slurm.*|sweep_kill", ("tools/", "models/scenario/", "models/sweep/", "sim/job/", "tests/slurm/", "tests/sweep/")),
    (r"damaged_variants\..*", ("tools/whatif/", "tools/trace/", "traces/", "sim/", "models/analysis/", "models/megatron/", "models/synth/",
                           "tests/damaged/")),
    (r"package|completion|pyarrow_option", ("tools/", "tests/package/", "tests/help/")),
    (r"docs_site", ("docs/", "README.md", "CONTRIBUTING.md", "mkdocs.yml", "tests/docs/", "goodput-setup")),
    (r".*\.planted", ("tests/layering/", "tests/docs/", "tests/cuda/", "gpu/measured")),
)
# Folders of tests/ without unit tests, whose entries are above or always run.
NO_UNITS = ("bench", "compile_fail", "contributing", "cuda", "damaged", "docs", "fuzz", "gpu", "help", "layering", "monitor", "package",
            "page", "scenarios", "simt", "slurm", "sweep")


def git(root, *arguments):
    result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return result.stdout.split() if result.returncode == 0 else None


def changed_files(root, since):
    """Paths from the root; None: git cannot tell."""
    if since is None:
        since = (git(root, "rev-list", "-1", "--before=1 day ago", "HEAD") or [None])[0]
    if since is None:
        return None
    differing = git(root, "diff", "--name-only", "--no-renames", since)
    untracked = git(root, "ls-files", "--others", "--exclude-standard")
    if differing is None or untracked is None:
        return None
    return sorted({*differing, *untracked})


class Includes:
    """Which files and folders a source is made of."""

    def __init__(self, root):
        self.root = root
        self.rows, _ = layering.read_table((root / "tests/layering/layering.txt").read_text(encoding="utf-8"))
        self.folders_below_ = {}

    def of(self, path):
        """What a file includes, and what the source beside a header does."""
        together = {path, *(path.rpartition(".")[0] + suffix for suffix in (".cpp", ".cu"))}
        texts = [(self.root / name).read_text(encoding="utf-8", errors="replace") for name in together
                 if (self.root / name).is_file()]
        return {included for text in texts for quote, included in layering.INCLUDE.findall(text) if quote == '"'}

    def folders_below(self, folder):
        """The folder and all that it may be made of."""
        if folder not in self.folders_below_:
            below = {folder, layering.OPEN_TO_ALL}
            for name in self.rows[folder].allowed:
                below |= self.folders_below(name) if name in self.rows else self.parts([name])
            self.folders_below_[folder] = below
        return self.folders_below_[folder]

    def parts(self, paths):
        """The files given, those that they include of tests/, and the folders below all others that these include."""
        found, waiting = set(paths), list(paths)
        while waiting:
            for included in self.of(waiting.pop()):
                folder = layering.row_of(included, self.rows)
                if included in found:
                    continue
                if included.startswith("tests/"):
                    found.add(included)
                    waiting.append(included)
                elif folder in self.rows and folder != "tests":
                    found |= self.folders_below(folder)
        return found


def gpu_sources(root):
    """The files that the GPU part is made of: its folders, what they include, and the sources beside those headers."""
    includes = Includes(root)
    waiting = [path.relative_to(root).as_posix() for folder in ("gpu", "tests/gpu", "tests/simt")
               for path in (root / folder).rglob("*") if path.suffix in (".h", ".cuh", ".cu", ".cpp")]
    seen = set(waiting)
    while waiting:
        for header in includes.of(waiting.pop()):
            for path in (header, header.removesuffix(".h") + ".cpp"):
                if path not in seen and (root / path).is_file():
                    seen.add(path)
                    waiting.append(path)
    return seen


def unit_folders(root):
    """The folders of unit tests without the GPU part, from tests/: what their tests are made of."""
    includes, found = Includes(root), {}
    for path in (root / "tests").rglob("*_test.cpp"):
        name = path.relative_to(root).as_posix()
        if not name.startswith(GPU_FOLDERS):
            found.setdefault(path.parent.relative_to(root / "tests").as_posix(), []).append(name)
    return {folder: includes.parts(names) for folder, names in found.items()}


def parts_of(root, files):
    """What changed, as `Includes.parts` names it: files, headers of tests for their sources, folders of the product. None:
    a file that may be part of anything, as of configs/ and the build."""
    rows = Includes(root).rows
    changed = set(files)
    for path in files:
        top, _, below = path.partition("/")
        header = path.removesuffix(".cpp") + ".h"
        if top in PRODUCT and layering.row_of(path, rows) in rows:
            changed.add(layering.row_of(path, rows))
        elif top == "tests" and "/" in below and (path.endswith(".h") or (root / header).is_file()):
            changed.add(header)
        elif path.startswith("docs/formats/"):
            changed.add("tools/trace")  # whose tests read a page of it
        elif not (top in ("gpu", "docs") or path.endswith((".md", "_test.cpp"))
                  or top == "tests" and below.startswith(tuple(f"{folder}/" for folder in NO_UNITS))):
            return None
    return changed


def plan(root, files):
    """What to run; `files` None: everything."""
    if files is None:
        every = sorted(path.relative_to(root).as_posix() for top in PRODUCT for path in (root / top).rglob("*.[ch]*"))
        return {"excluded": [], "units_left_out": 0, "gpu": True, "files": every}
    of_gpu = gpu_sources(root)
    has_gpu = any(path.startswith(GPU_FOLDERS) or path in of_gpu for path in files)
    excluded, units = ([] if has_gpu else [GPU_ENTRIES]), []
    changed = parts_of(root, files)
    if changed is not None:
        units = [folder for folder, parts in unit_folders(root).items() if not parts & changed]
        excluded += [pattern for pattern, places in ENTRIES if not any(path.startswith(places) for path in files)]
        if units:
            names = "|".join(folder.replace("/", "\\.") for folder in sorted(units))
            excluded.append(rf"(unit|slow|release-only)\.({names})")  # CMake's expressions have 32 groups at most
    return {"excluded": excluded, "units_left_out": len(units), "gpu": has_gpu,
            "files": [path for path in files if (root / path).is_file()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--since")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    found = plan(root, changed_files(root, arguments.since))
    left_out = [f"unit tests of {found['units_left_out']} folders that do not use what changed"] if found["units_left_out"] else []
    if not found["gpu"]:
        left_out.append("the GPU part")
    values = {
        "excluded": f"^({'|'.join(found['excluded'])})$" if found["excluded"] else "",
        "has_gpu": "yes" if found["gpu"] else "no",
        "headers": " ".join(path for path in found["files"] if path.endswith((".h", ".cuh"))),
        "sources": " ".join(path for path in found["files"] if path.endswith((".cpp", ".h"))),
        "left_out": ", ".join(left_out),
    }
    for name, value in values.items():
        print(f"{name}={shlex.quote(value)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
