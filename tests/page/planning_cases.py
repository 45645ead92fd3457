"""The pages of simulate, plan, sweep and check: what they say, and that it can be had with keys."""

import unittest

from page_world import open_page, press, read_off, rows_of, text_of

HOME, END, UP, DOWN, RIGHT = "\ue011", "\ue010", "\ue013", "\ue015", "\ue014"


class Simulate(unittest.TestCase):
    def setUp(self):
        self.browser = open_page("simulate")

    def test_the_headline_names_the_best_policy_and_by_how_much(self):
        self.assertRegex(text_of("h1")[0], r"^(ds|elastic_dp) (is done after|trains) .*(as fast|as much|no different|as) ")

    def test_samples_are_read_off_at_any_time_and_losses_by_mark(self):
        self.assertRegex(read_off("Samples by policy", HOME), r"^time 0.s: ds 0, elastic_dp 0$")
        self.assertRegex(read_off("Samples by policy", DOWN), r"^time .* · \w+ loss of \d node")

    def test_nodes_are_held_and_used(self):
        self.assertRegex(read_off("Nodes: held", HOME), r"used by ds \d+, used by elastic_dp \d+, held 10$")

    def test_all_kinds_of_time_are_in_the_table(self):
        kinds = [row[0] for row in rows_of("all kinds of time")]
        self.assertEqual(len(kinds), 11)
        self.assertIn("wasted progress from disruption", kinds)

    def test_ratios_have_their_intervals(self):
        self.assertRegex(read_off("Ratio of samples an hour", DOWN), r"^ds/elastic_dp: 0\.\d+.× \(95 % interval 0\.\d+.× to 0\.\d+.×\)")

    def test_trials_scatter_around_a_deadline(self):
        self.assertRegex(read_off("Time to the goal", END), r"100.0.%")
        self.assertTrue(any("deadline 15" in text for text in text_of(".drawing text")))

    def test_a_policy_that_cannot_run_stands_there_with_its_reason(self):
        (row,) = rows_of("refused policies")
        self.assertEqual(row[0], "never")
        self.assertGreater(len(row[1]), 10)


class Plan(unittest.TestCase):
    def setUp(self):
        open_page("plan")

    def test_the_headline_is_the_answer(self):
        self.assertRegex(text_of("h1")[0], r"^(checkpoint|elastic_dp), TP 1 × PP \d × DP \d+, \d spares?, .*: \$\d.*, done after .*(h|days)\.$")

    def test_the_front_begins_with_the_cheapest_and_the_answer_is_marked(self):
        self.assertRegex(read_off("Cost against time", HOME), r"cost \$.* time to the goal .* · (the answer|on the front)$")
        self.assertGreaterEqual(len(rows_of("Cost against time")), 10)
        self.assertEqual(self.marks(), 1)

    def marks(self):
        return len(text_of("circle.answer"))

    def test_one_number_is_changed_at_a_time(self):
        self.assertRegex(read_off("Cost by spare nodes", HOME), r"^spares 0: \$")
        self.assertRegex(read_off("Cost by steps between checkpoints", END), r"^interval steps \d+: \$")

    def test_inputs_are_ranked_by_how_far_they_move_the_answer(self):
        self.assertRegex(read_off("Change of cost", HOME), r"\): at \S+ it is .*%, at \S+ it is ")
        rows = rows_of("Change of cost")
        numbers = [max(abs(float(cell.rstrip("\u202f%").replace("−", "-").replace("–", "0"))) for cell in (row[3], row[5])) for row in rows]
        self.assertEqual(numbers, sorted(numbers, reverse=True))


class Sweep(unittest.TestCase):
    def setUp(self):
        self.browser = open_page("sweep")

    def test_every_point_and_policy_is_in_the_table(self):
        self.assertEqual(len(rows_of("points")), 9 * 2)

    def test_curves_go_through_the_best_point_of_the_metric_that_is_chosen(self):
        self.assertRegex(read_off("Cost by mtbf hours", HOME), r"^mtbf hours 1: .*ds \$")
        press("select", "g")  # goodput
        self.assertRegex(read_off("Goodput by interval steps", END), r"^interval steps 800: .*ds \d+\.\d.%")

    def test_parameters_are_ranked_by_how_far_they_move_the_best_point(self):
        self.assertRegex(read_off("Change of cost", HOME), r"^(mtbf hours|interval steps) \(best at \d+\): at \d+ it is ")


class Check(unittest.TestCase):
    def setUp(self):
        self.browser = open_page("check")

    def test_the_headline_is_the_verdict_in_words(self):
        self.assertEqual(text_of("h1")[0], "Suite smoke: regression in 8 cases: 1 failed, 3 worse, 1 changed, 1 undecided, 1 better.")

    def test_the_worst_is_first_with_its_interval(self):
        said = read_off("Relative change", HOME)
        self.assertIn("<script>window.pwned = 1</script>⟨U+202E⟩gpj: −3.40\u202f% (95 % interval −4.10\u202f% to −2.70\u202f%) · worse", said)
        self.assertRegex(read_off("Relative change", DOWN), r"^little worse: −1.21")

    def test_bands_show_what_is_tolerated(self):
        self.assertEqual(len(text_of("rect.tolerance")), 5 + 1)  # those that moved and have a tolerance; the noise of the times

    def test_a_name_is_text_wherever_it_stands(self):
        self.assertIsNone(self.browser.run("return window.pwned ?? null"))
        self.assertEqual(self.browser.run("return document.querySelectorAll('main script, main img').length"), 0)

    def test_why_is_told_case_by_case(self):
        self.assertIn("noticing a loss takes longer", text_of("section li"))

    def test_a_change_from_nothing_is_in_its_own_unit(self):
        (row,) = [row for row in rows_of("cases") if row[0] == "count"]
        self.assertIn("+3", row)

    def test_time_is_compared_with_the_noise(self):
        self.assertTrue(any(text.startswith("Slower: exponential.") for text in text_of(".note")))


class Checked(unittest.TestCase):
    def test_a_check_that_finds_nothing_says_so(self):
        open_page("checked")
        self.assertRegex(text_of("h1")[0], r"^Suite smoke: no regression in \d+ cases, all the same\.$")
        self.assertIn("Nothing: every figure is what it was.", text_of(".note"))


class Older(unittest.TestCase):
    def test_what_older_results_lack_is_said_in_place_of_empty_charts(self):
        open_page("older")
        said = " ".join(text_of(".missing"))
        for what in ("the course of the first trial", "the distribution over trials", "the contenders", "what other numbers come to", "the points"):
            self.assertIn(what, said)
