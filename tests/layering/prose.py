"""Checks messages and docs for the worst habits of our prose.

    prose.py REPOSITORY

Messages are the string literals of two words or more in the product's sources, with parts that stand next to each other
joined. Docs are README.md, CONTRIBUTING.md and docs/, without code blocks, tables and headings. PATTERNS says what is not
written; a sentence has at most MAX_WORDS words. In a message a semicolon ends a sentence too, as between what is wrong and what
to do.

prose.txt lists the exceptions, `PATH: WORDS OF THE SENTENCE`, one per line. It must not grow beyond MAX_EXCEPTIONS, and an exception
that is no longer needed is an error too. Prints a line for every finding, then fails.
"""

import re
import sys
from pathlib import Path

MAX_WORDS = 30
MAX_EXCEPTIONS = 0
PATTERNS = (
    (re.compile(r"\b(who|whom)\b", re.I), "'who' is for people: write 'which' or 'that'"),
    (re.compile(r"(?<!there )(?<!if )\b(is|are|was) no\b(?! longer| more than| other| need)", re.I), "write 'is not a', not 'is no'"),
    (re.compile(r"\bwith \d+(\.\d+)? ?%(?! (of|more|less|fewer|probability|CPU|confidence|interval))", re.I), "write 'at 95 % confidence' or '95 % of runs'"),
    (re.compile(r"\b(no matter of|to be had|moves? nothing|of its own accord|as it has it)\b", re.I), "write it in everyday words"),
    (re.compile(r"(;|,|:) want(s)? ", re.I), "write 'expected', 'must be' or what to do, not 'want'"),
    (re.compile(r"\b(analys(e|ed|ing|er)|colou?red? ?map|colours?|behaviour\w*|licence|neighbour\w*|cancelled|recognis\w+|"
                r"summaris\w+|normalis\w+|optimis(e|ed|es|ing)|initialis\w+|centre|grey|modell(ed|ing)|labell(ed|ing))\b", re.I),
     "American spelling"),
)
LITERAL = re.compile(r'R"(?P<mark>\w*)\((?P<raw>.*?)\)(?P=mark)"|"(?P<plain>(?:[^"\\\n]|\\.)*)"|//[^\n]*|/\*.*?\*/|'
                     r"'(?:[^'\\\n]|\\.)'", re.DOTALL)
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|CREATE|DELETE|PRAGMA|ALTER|BEGIN|FROM)\b")
EMBEDDED = re.compile(r"[{;]\s*$|^\s*<|=>|^function ", re.M)  # script or markup
SENTENCE_END = re.compile(r"(?<=[.!?])\s+(?=[A-Z`\"'(<\[{0-9])|\n\s*\n")


def messages_of(text):
    """(line, text) of the string literals, adjacent ones joined."""
    pieces = []
    for found in LITERAL.finditer(text):
        said = found["raw"] if found["raw"] is not None else found["plain"]
        if said is None:
            continue
        if pieces and not text[pieces[-1][2]:found.start()].strip():
            pieces[-1] = (pieces[-1][0], pieces[-1][1] + said, found.end())
        else:
            pieces.append((found.start(), said, found.end()))
    for start, said, _ in pieces:
        if len(re.findall(r"[A-Za-z]{2,}", said)) >= 2 and " " in said and not SQL.search(said) and not EMBEDDED.search(said):
            yield text.count("\n", 0, start) + 1, said.replace("\\n", "\n\n")


def paragraphs_of(page):
    """(line, text) of the prose of a page: each paragraph and each item of a list."""
    first, lines, fenced = 0, [], False
    for number, line in enumerate(page.splitlines() + [""], 1):
        if line.lstrip().startswith("```"):
            fenced = not fenced
            line = ""
        is_code = fenced or line.startswith("    ") and not lines
        is_item = re.match(r"\s*([-*]|\d+\.) ", line)
        if (not line.strip() or is_code or is_item or line.startswith(("|", "#", "<!--"))) and lines:
            yield first, " ".join(lines)
            lines = []
        if line.strip() and not is_code and not line.startswith(("|", "#", "<!--")):
            first = first if lines else number
            lines.append(line.strip())


def plain(text):
    """As a reader sees it: a code span or a link is its text, a placeholder one word."""
    text = re.sub(r"`[^`]*`", "CODE", text)
    text = re.sub(r"!?\[((?:[^\[\]]|\[[^\]]*\])*)\]\([^)]*\)", r"\1", text)
    return re.sub(r"\{[^{}]*\}", "X", text)


def problems_of(text, is_message):
    for sentence in SENTENCE_END.split(plain(text)):
        for part in sentence.split("; ") if is_message else [sentence]:
            words = [word for word in part.split() if re.search(r"\w", word)]
            if len(words) > MAX_WORDS:
                yield " ".join(words[:8]), f"{len(words)} words, at most {MAX_WORDS}"
        for pattern, remedy in PATTERNS:
            if found := pattern.search(sentence):
                yield " ".join(sentence[max(0, found.start() - 20):found.end() + 30].split()), remedy


def pieces_of(root):
    """(path, line, text, whether it is a message)"""
    for top in ("sim", "models", "traces", "tools", "gpu"):
        for path in sorted((root / top).rglob("*")):
            if path.parts[-2] != "test" and path.suffix in (".h", ".cpp", ".def", ".cu", ".cuh", ".js"):
                for line, text in messages_of(path.read_text()):
                    yield path.relative_to(root), line, text, True
    for path in sorted([root / "README.md", root / "CONTRIBUTING.md", *(root / "docs").rglob("*.md")]):
        if "measurements" not in path.parts:
            for line, text in paragraphs_of(path.read_text()):
                yield path.relative_to(root), line, text, False


def check(root, exceptions):
    if len(exceptions) > MAX_EXCEPTIONS:
        yield f"prose.txt: {len(exceptions)} exceptions, at most {MAX_EXCEPTIONS}: rewrite the sentence instead"
    used = set()
    for path, line, text, is_message in pieces_of(root):
        for words, remedy in problems_of(text, is_message):
            exception = next((one for one in exceptions if one == f"{path}: {words}"), None)
            if exception:
                used.add(exception)
            else:
                yield f"{path}:{line}: {words}: {remedy}"
    for exception in exceptions:
        if exception not in used:
            yield f"prose.txt: no such sentence any more: {exception}"


if __name__ == "__main__":
    listed = [line for line in (Path(__file__).parent / "prose.txt").read_text().splitlines() if line and not line.startswith("#")]
    found = list(check(Path(sys.argv[1]), listed))
    print("\n".join(found))
    sys.exit(1 if found else 0)
