"""Checks that messages stay whole, and that the libraries know nothing of the command line.

    error_texts.py REPOSITORY

Below tools/ no text and no comment names a flag: an error has the key of its option (Error::option), which tools/ turns
into the flag. (A whole command in backticks, `goodput whatif --json`, may have flags.) Nowhere is Error::what searched,
cut or compared: what a caller wants to know of an error is in its other members. Prints a line for everything that is
wrong, then fails.
"""

import re
import sys
from pathlib import Path

LIBRARIES = ("sim", "models", "traces")
FLAGS_OF_OTHERS = ("models", "launch")  # reads and writes the command lines of training frameworks
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
COMMAND = re.compile(r"`goodput [^`]*`|Megatron-LM: --[a-z-]+")  # what other programs call their flags is theirs
TEXT_OR_COMMENT = re.compile(r'R"(\w*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
SEARCHED = re.compile(r"(?:\.|->)what\s*(?:\.\s*(?:r?find\w*|substr|starts_with|ends_with|contains|compare|erase|"
                      r"replace|insert|at|front|back|begin|end|size|empty)\b|\[|[=!]=)|"
                      r"[=!]=\s*[\w.()>-]+(?:\.|->)what\b(?!\()|"
                      r"\b(?:auto|string|string_view)\s*&?\s+\w+\s*=\s*[\w.()>*-]+(?:\.|->)what\s*;")


def errors_of(text, path):
    def at(match, offset=0):
        return f"{path}:{text.count(chr(10), 0, match.start() + offset) + 1}"

    if path.parts[0] in LIBRARIES and path.parts[:2] != FLAGS_OF_OTHERS:
        for piece in TEXT_OR_COMMENT.finditer(text):
            said = COMMAND.sub(lambda command: " " * len(command[0]), piece[0])
            for flag in FLAG.finditer(said):
                yield f"{at(piece, flag.start())}: {flag[0]}: only tools/ knows flags; say kOption and the option's key"
    code = TEXT_OR_COMMENT.sub(lambda piece: '""' + "\n" * piece[0].count("\n"), text)
    for match in SEARCHED.finditer(code):
        yield (f"{path}:{code.count(chr(10), 0, match.start()) + 1}: looks into Error::what; give the error a member "
               "that says it")


def check(root):
    errors = []
    for top in (*LIBRARIES, "tools"):
        if not any((root / top).rglob("*.cpp")):
            errors.append(f"{top}: no sources there")
        for path in sorted((root / top).rglob("*")):
            if path.suffix in (".h", ".cpp", ".def"):
                errors += errors_of(path.read_text(), path.relative_to(root))
    return errors


if __name__ == "__main__":
    found = check(Path(sys.argv[1]))
    print("\n".join(found))
    sys.exit(1 if found else 0)
