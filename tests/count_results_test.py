"""What count_results.py makes of a JUnit file."""

import io
import unittest
from xml.sax.saxutils import escape

import count_results

DOCTEST = """[doctest] doctest version is "2.4.9"
===============================================================================
sum_test.cpp:3:
TEST CASE:  sum: one and one make two

sum_test.cpp:3: ERROR: CHECK( 1 + 1 == 3 ) is NOT correct!
sum_test.cpp:3: ERROR: CHECK( 1 == 2 ) is NOT correct!
===============================================================================
sum_test.cpp:5:
TEST CASE:  sum: throws

sum_test.cpp:5: ERROR: test case THREW exception: no
===============================================================================
sum_test.cpp:6:
TEST CASE:  sum: needs data

sum_test.cpp:6: MESSAGE: skipped: no shared data
===============================================================================
[doctest] test cases: 4 | 2 passed | 2 failed | 0 skipped
"""


def junit(*tests):
    """(name, status, output) each."""
    entries = (f'<testcase name="{name}" status="{status}"><system-out>{escape(output)}</system-out></testcase>'
               for name, status, output in tests)
    return io.StringIO(f"<testsuite>{''.join(entries)}</testsuite>")


class CountResults(unittest.TestCase):
    def test_doctest_entries_count_as_their_cases_and_failed_cases_are_named(self):
        # 2 of 4 passed, and one of the 2 says that it was skipped.
        self.assertEqual(count_results.summarize(junit(("unit.sum", "fail", DOCTEST))),
                         ["1 2 1", "unit.sum: sum: one and one make two; sum: throws"])

    def test_other_entries_count_as_one_or_as_what_they_say(self):
        self.assertEqual(count_results.summarize(junit(("page", "run", "fine"), ("gpu", "run", "7 passed, 0 failed"),
                                                       ("nccl", "notrun", ""), ("format", "fail", "bad"))),
                         ["8 1 1", "format"])

    def test_an_entry_that_dies_in_a_case_counts_as_a_failure(self):
        # The output ends before doctest's summary, as after a crash or a time-out.
        output = "TEST CASE:  sum: hangs\n\nsum_test.cpp:9: FATAL ERROR: test case CRASHED: SIGSEGV\n"
        self.assertEqual(count_results.summarize(junit(("unit.sum", "fail", output))),
                         ["0 1 0", "unit.sum: sum: hangs"])


if __name__ == "__main__":
    unittest.main()
