#!/usr/bin/env python3
"""Follows CONTRIBUTING.md to the letter.

    contributing.py apply REPOSITORY OVERLAY      writes the files that its examples make or change into OVERLAY, and prints the
                                                  sources to compile: the new ones, and those that include a changed .def file
    contributing.py check REPOSITORY GOODPUT      applies them to a copy, checks layering and format, and runs every `$` line with
                                                  GOODPUT, a program built of them; what it prints has to be what stands there
    contributing.py renew REPOSITORY GOODPUT      the same, and writes what it printed into the page

The page says before every block what it is: "Make `FILE`:" or "With `FILE`:" (the file is the block), "At the end of `FILE`:", and
"In `FILE`, before the row `TEXT`:". Blocks of `console` are commands, each behind `$ `, with what they print.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

PAGE = "CONTRIBUTING.md"
COPIED = ("sim", "models", "traces", "tools", "gpu", "configs", "tests")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
WHERE = re.compile(
    r"(?:Make|[Ww]ith|in)\s+`(?P<make>[^`]+)`:$|At\s+the\s+end\s+of\s+`(?P<end>[^`]+)`:$"
    r"|In\s+`(?P<into>[^`]+)`,\s+before\s+the\s+row\s+`(?P<row>[^`]+)`:$")


def blocks(page):
    """(language, text, match of WHERE or None), in order."""
    for block in BLOCK.finditer(page):
        before = page[:block.start()].rstrip()
        paragraph = before[before.rfind("\n\n") + 2:]
        yield block[1], block[2], WHERE.search(paragraph)


def changes(repository):
    """Files by name as the examples leave them."""
    files = {}
    for language, text, where in blocks((repository / PAGE).read_text()):
        if language == "console":
            continue
        if not where:
            raise SystemExit(f"{PAGE}: a block of {language} that no file is named for: {text.splitlines()[0]}")
        name = where["make"] or where["end"] or where["into"]
        if where["make"]:
            if name in files or (repository / name).exists() and (repository / name).read_text() != text:
                raise SystemExit(f"{PAGE}: makes {name}, which is there already")
            files[name] = text
            continue
        now = files.get(name) or (repository / name).read_text()
        if text in now:  # somebody tries the examples in the repository itself
            continue
        if where["end"]:
            files[name] = now + text
        else:
            at = re.search("^" + re.escape(where["row"]), now, re.MULTILINE)
            if not at:
                raise SystemExit(f"{PAGE}: {name} has no row that begins with {where['row']}")
            files[name] = now[:at.start()] + text + now[at.start():]
    return files


def write(files, folder):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if not path.exists() or path.read_text() != text:
            path.write_text(text)


def sources(repository, files):
    """What has to be compiled anew. A registry's .def is included by the source that lists it, and for declarations by a header."""
    made = [name for name in files if name.endswith(".cpp")]
    definitions = [name for name in files if name.endswith(".def")]
    listing = []
    for folder in ("sim", "models", "traces", "tools"):
        for source in sorted((repository / folder).rglob("*.cpp")):
            text = source.read_text()
            if any(f'#include "{name}"' in text for name in definitions):
                listing.append(str(source))
    return made, listing


def apply(repository, overlay):
    files = changes(repository)
    write(files, overlay)
    made, listing = sources(repository, files)
    print(";".join([str(overlay / name) for name in made] + listing), end="")


def run(command, folder, goodput):
    environment = dict(os.environ, PATH=f"{goodput.parent}{os.pathsep}{os.environ['PATH']}", TERM="dumb", COLUMNS="100")
    return subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, check=False).stdout


def transcript(text, folder, goodput):
    """The block as it comes out."""
    return "".join(f"$ {command}\n{run(command, folder, goodput)}" for command in re.findall(r"^\$ (.*)$", text, re.MULTILINE))


def check_sources(folder, files):
    """Layering and format of the copy."""
    layering = folder / "tests/layering"
    wrong = subprocess.run([sys.executable, "-B", layering / "layering.py", "--table", layering / "layering.txt", folder],
                           text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    if wrong.returncode:
        return [wrong.stdout]
    clang_format = shutil.which("clang-format-14")
    if not clang_format:
        return []
    made = [folder / name for name in files if name.endswith(".cpp")]
    return [f"{path}: clang-format-14 changes it" for path in made
            if subprocess.run([clang_format, path], text=True, stdout=subprocess.PIPE, check=True).stdout != path.read_text()]


def follow(repository, goodput, renew):
    files = changes(repository)
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch) / "goodput"
        folder.mkdir()
        for name in COPIED:
            shutil.copytree(repository / name, folder / name)
        shutil.copy(repository / ".clang-format", folder)
        (folder / "bin").mkdir()
        (folder / "bin/goodput").symlink_to(goodput)
        write(files, folder)
        problems = check_sources(folder, files)
        page = (repository / PAGE).read_text()
        for language, text, _ in blocks(page):
            if language != "console":
                continue
            got = transcript(text, folder, folder / "bin/goodput")
            if got != text:
                problems.append(f"{PAGE} says\n{text}but it is\n{got}")
                page = page.replace(f"```console\n{text}```", f"```console\n{got}```")
    if renew:
        (repository / PAGE).write_text(page)
    print("\n".join(problems) or f"{len(files)} files made or changed, every command as the page shows it")
    return 1 if problems else 0


def main():
    what, repository, other = sys.argv[1], pathlib.Path(sys.argv[2]).resolve(), pathlib.Path(sys.argv[3]).resolve()
    if what == "apply":
        return apply(repository, other)
    return follow(repository, other, what == "renew")


if __name__ == "__main__":
    sys.exit(main())
