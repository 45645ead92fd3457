"""What a change can affect: which ctest entries, headers and clang-tidy units the usual ./run-tests runs.

    affected.py REPOSITORY [--since REVISION]

Prints shell assignments: `excluded` (a regular expression of ctest entries that cannot be affected), `has_gpu`, `headers`,
`sources` (changed, to be read by clang-tidy), and `left_out` (one line for people). A
change is what differs from the newest commit that is older than a day, uncommitted files included. If git cannot tell,
everything has changed.
"""

import argparse
import re
import shlex
import subprocess
import sys
from pathlib import Path

# By the folder of a change, the areas of tests that it can break: those of the folders above it (tests/layering).
LAYERS = {
    "sim": {"sim", "models", "traces", "tools"},
    "models": {"models", "tools"},
    "traces": {"traces", "tools"},
    "tools": {"tools", "program"},
}
ALL = {"sim", "models", "traces", "tools", "program"}
# Folders that only the GPU part has. What else it includes is found by following its includes.
GPU_FOLDERS = ("gpu/", "tests/gpu/", "tests/simt/", "tests/cuda/", "cmake/GoodputCuda.cmake", "cmake/GoodputNccl.cmake")
# Entries that only the GPU part can break.
GPU_ENTRIES = r"gpu\..*|(unit|slow|release-only)\.(gpu|simt)|gpu_emulated\..*|kernel_gates.*|machine_code.*|nccl_.*|cublas_library|gpu_option|on_device|attention|shared_header.*"
# Entries, and the areas that can break them: `program` is broken by any change of tools/, configs/ or the build, `pages` and
# `sweeps` by their tests besides, `checks` by those of the source checks. An entry that no row names always runs.
ENTRIES = (
    (r"(unit|slow|release-only)\.sim", {"sim"}),
    (r"(unit|slow|release-only)\.models", {"models"}),
    (r"(unit|slow|release-only)\.traces", {"traces"}),
    (r"(unit|slow|release-only)\.tools", {"tools"}),
    (r"page", {"pages", "program"}),
    (r"monitor_.*", {"pages", "program", "traces", "sim"}),
    (r"slurm.*|sweep_kill", {"sweeps", "program"}),
    (r"package|completion|pyarrow_option", {"program"}),
    (r".*\.planted", {"checks"}),
)
INCLUDE = re.compile(r'^\s*#include "([^"]+)"', re.MULTILINE)


def git(root, *arguments):
    result = subprocess.run(["git", "-C", str(root), *arguments], capture_output=True, text=True, check=False)
    return result.stdout.split() if result.returncode == 0 else None


def changed_files(root, since):
    """Paths from the root; None: git cannot tell."""
    if since is None:
        since = (git(root, "rev-list", "-1", "--before=1 day ago", "HEAD") or [None])[0]
    if since is None:
        return None
    differing = git(root, "diff", "--name-only", since)
    untracked = git(root, "ls-files", "--others", "--exclude-standard")
    if differing is None or untracked is None:
        return None
    return sorted({*differing, *untracked})


def gpu_sources(root):
    """The files that the GPU part is made of: its folders, what they include, and the sources beside those headers."""
    waiting = [path for folder in ("gpu", "tests/gpu", "tests/simt") for path in (root / folder).rglob("*")
               if path.suffix in (".h", ".cuh", ".cu", ".cpp")]
    seen = set(waiting)
    while waiting:
        text = waiting.pop().read_text(encoding="utf-8", errors="replace")
        for name in INCLUDE.findall(text):
            header = root / name
            for path in (header, header.with_suffix(".cpp")):
                if path not in seen and path.is_file():
                    seen.add(path)
                    waiting.append(path)
    return {str(path.relative_to(root)) for path in seen}


def areas_of(path):
    """The areas that a changed file can break."""
    top, _, below = path.partition("/")
    if top in LAYERS:
        return LAYERS[top]
    if top == "tests":
        area = below.partition("/")[0]
        if area in LAYERS:
            return {area}
        if area in ("layering", "docs", "cuda"):
            return {"checks"}
        if area in ("page", "monitor"):
            return {"pages"}
        if area in ("slurm", "sweep"):
            return {"sweeps"}
        if area in ("gpu", "simt", "scenarios", "fuzz", "bench"):
            return set()
        return ALL
    if top in ("gpu", "docs") or path.endswith(".md"):
        return set()
    return ALL  # configs, cmake, the scripts


def plan(root, files):
    """What to run; `files` None: everything."""
    if files is None:
        every = sorted(str(path.relative_to(root)) for folder in LAYERS for path in (root / folder).rglob("*.[ch]*"))
        return {"areas": ALL | {"checks"}, "gpu": True, "files": every}
    areas = set().union(*(areas_of(path) for path in files)) if files else set()
    of_gpu = gpu_sources(root)
    has_gpu = any(path.startswith(GPU_FOLDERS) or path in of_gpu for path in files)
    return {"areas": areas, "gpu": has_gpu, "files": [path for path in files if (root / path).is_file()]}


def excluded_entries(found):
    rows = [pattern for pattern, areas in ENTRIES if not areas & found["areas"]]
    return rows + ([] if found["gpu"] else [GPU_ENTRIES])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root", type=Path)
    parser.add_argument("--since")
    arguments = parser.parse_args()
    root = arguments.root.resolve()
    files = changed_files(root, arguments.since)
    found = plan(root, files)
    excluded = excluded_entries(found)
    missing = sorted(LAYERS.keys() - found["areas"])
    left_out = [f"tests of {', '.join(missing)}"] if missing else []
    if not found["gpu"]:
        left_out.append("the GPU part")
    values = {
        "excluded": f"^({'|'.join(excluded)})$" if excluded else "",
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
