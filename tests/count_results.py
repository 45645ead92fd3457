"""Prints `PASSED FAILED SKIPPED` for a JUnit file that ctest wrote, then a line for every entry that failed.

A ctest entry that runs doctest counts as its test cases, one that prints `N passed, N failed` on a line (gpu_test) as
those, every other entry as one. A doctest case that says `skipped: REASON` in a message (no shared data, say) counts as
skipped.
"""

import re
import sys
import xml.etree.ElementTree as ElementTree


def skipped_cases(output):
    skipped = set()
    case = None
    for line in output.splitlines():
        if line.startswith("TEST CASE:"):
            case = line
        elif "MESSAGE: skipped" in line:
            skipped.add(case)
    return len(skipped)


def failed_cases(output):
    """Names of the doctest cases with a failed check, in order, each once."""
    failed = {}
    case = None
    for line in output.splitlines():
        if line.startswith("TEST CASE:"):
            case = line.removeprefix("TEST CASE:").strip()
        elif case is not None and "ERROR:" in line:
            failed[case] = None
    return list(failed)


def describe_failure(test):
    cases = failed_cases(test.findtext("system-out") or "")
    return f"{test.get('name')}: {'; '.join(cases)}" if cases else test.get("name")


def count(test):
    output = test.findtext("system-out") or ""
    status = test.get("status")
    if status in ("notrun", "disabled"):
        return 0, 0, 1
    cases = re.findall(r"\[doctest\] test cases: +\d+ \| +(\d+) passed \| +(\d+) failed", output)
    cases += re.findall(r"^(\d+) passed, (\d+) failed\b", output, re.MULTILINE)
    if not cases:
        return (1, 0, 0) if status == "run" else (0, 1, 0)
    passed = sum(int(case[0]) for case in cases)
    failed = sum(int(case[1]) for case in cases)
    skipped = skipped_cases(output)
    if status == "fail" and failed == 0:
        failed = 1
    return passed - skipped, failed, skipped


def summarize(junit):
    """The lines to print. `junit`: a file or its name."""
    tests = list(ElementTree.parse(junit).iter("testcase"))
    counts = [count(test) for test in tests]
    totals = " ".join(str(sum(column)) for column in zip((0, 0, 0), *counts))
    return [totals, *(describe_failure(test) for test, (_, failed, _) in zip(tests, counts) if failed)]


if __name__ == "__main__":
    print(*summarize(sys.argv[1]), sep="\n")
