"""The pages of simulate, plan, sweep and check: what they say, and that it can be had with keys."""

import unittest

from page_world import open_page, press, read_off, rows_of, text_of

HOME, END, UP, DOWN, RIGHT = "\ue011", "\ue010", "\ue013", "\ue015", "\ue014"


class Simulate(unittest.TestCase):
    def setUp(self):
        self.browser = open_page("simulate")

    def test_the_headline_names_the_best_policy_and_by_how_much(self):
        self.assertRegex(text_of("h1")[0], r"^(ds|elastic_dp) (finishes after|trains) .*(as fast as|as much as|no difference from|the same as) ")

    def test_samples_are_read_off_at_any_time_and_losses_by_mark(self):
        self.assertRegex(read_off("Samples by policy", HOME), r"^time 0.s: ds 0, elastic_dp 0$")
        self.assertRegex(read_off("Samples by policy", DOWN), r"^time .* · \w+ loss of \d node")

    def test_nodes_are_held_and_used(self):
        self.assertRegex(read_off("Nodes held", HOME), r"used by ds \d+, used by elastic_dp \d+, held 10$")

    def test_all_kinds_of_time_are_in_the_table(self):
        kinds = [row[0] for row in rows_of("all kinds of time")]
        self.assertEqual(len(kinds), 11)
        self.assertIn("wasted progress from disruption", kinds)

    def test_ratios_have_their_intervals(self):
        self.assertRegex(read_off("Ratio of samples per hour", DOWN), r"^ds/elastic_dp: 0\.\d+.× \(95 % interval 0\.\d+.× to 0\.\d+.×\)")

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

    def test_the_headline_is_the_answer_with_the_nodes_to_hold(self):
        self.assertRegex(text_of("h1")[0], r"^Hold \d+ nodes: (\d+ train, \d (is a|are) spares?|all train, no spares|all may train, .* do on average)\. "
                                           r"Finishes in \S+.(h|days) on average; 95.% of runs within \S+.(h|days); costs \$\d.*\.$")

    def test_the_first_figure_is_the_nodes_to_hold(self):
        self.assertEqual(text_of("dl.figures dt")[:4], ["Nodes to hold", "Average cost", "Finishes in", "95\u202f% of runs within"])
        self.assertEqual(f"Hold {text_of('dl.figures .value')[0]} nodes", text_of("h1")[0].split(":")[0])

    def test_the_front_begins_with_the_cheapest_and_the_answer_is_marked(self):
        self.assertRegex(read_off("Cost against time", HOME), r"^\d+ nodes, .*: cost \$.* time to finish .* · (recommended choice|no choice is better in both cost and time)$")
        self.assertEqual(len(text_of("section > figure circle.answer")), 1)

    def test_the_chart_zooms_to_the_answer_and_counts_the_choices_outside(self):
        near, everything = len(rows_of("Cost against time")), len(rows_of("All choices"))
        self.assertLess(near, everything)
        self.assertIn(f"{everything - near} more choices cost more or take longer and are outside this chart.", text_of(".note"))

    def test_one_number_is_changed_at_a_time(self):
        self.assertRegex(read_off("Cost by spare nodes", HOME), r"^spare nodes 0: \$")
        self.assertRegex(read_off("Cost by steps between checkpoints", END), r"^steps between checkpoints \d+: \$")

    def test_inputs_are_ranked_by_how_far_they_move_the_answer(self):
        self.assertRegex(read_off("Change in cost", HOME), r"\): at .*: [+−]?\d.*%, at .*: [+−]?\d.*%$")
        rows = rows_of("Change in cost")
        numbers = [max(abs(float(cell.rstrip("\u202f%").replace("−", "-").replace("–", "0"))) for cell in (row[3], row[5])) for row in rows]
        self.assertEqual(numbers, sorted(numbers, reverse=True))


class LimitedPlan(unittest.TestCase):
    """The edited result of planning_results.limited()."""

    def setUp(self):
        open_page("limited")

    def figures(self):
        return dict(zip(text_of("dl.figures dt"), text_of("dl.figures dd")))

    def test_nodes_of_a_spot_market_are_named(self):
        self.assertTrue(text_of("h1")[0].startswith("Hold 10 nodes (6 reserved, 4 from the spot market): 8 train, 2 are spares. "))
        self.assertEqual(self.figures()["Nodes to hold"], "106 reserved, 4 from the spot market; 8 train, 2 are spares")

    def test_limits_say_what_is_required_and_whether_the_trials_show_it(self):
        self.assertEqual(self.figures()["Done within 22\u202fh"], "97.7\u202f% of runs95\u202f% required, at least 95.0\u202f% at 95\u202f% confidence")
        self.assertEqual(self.figures()["Within $4\u202f000"], "90.0\u202f% of runs90\u202f% required, not confirmed by 128 trials")

    def test_the_interval_between_checkpoints_is_a_time_and_steps(self):
        self.assertIn("a checkpoint every 11\u202fmin (88 steps)", self.figures()["Policy"])

    def test_choices_that_differ_only_in_their_interval_share_a_row(self):
        rows = rows_of("recommended choice and equally good ones")
        # policy, nodes, spares, spot nodes, saves every, steps
        self.assertEqual([row[1:6] for row in rows], [["10", "2", "4", "11\u202fmin", "88"], ["10", "2", "4", "80\u202fs to 5\u202fmin", "11 to 44"]])

    def test_costs_have_their_intervals(self):
        for row in rows_of("recommended choice and equally good ones"):
            self.assertRegex(row[6], r"^\$[\d\u202f.]+ ± \d\.\d.%$")

    def test_inputs_that_hardly_matter_share_a_line(self):
        self.assertEqual([row[0] for row in rows_of("Change in cost")], ["cost model calibrated", "failure rate"])
        self.assertIn("These inputs change the cost by less than 0.3\u202f%: time to detect a loss.", text_of(".note"))

    def test_inputs_that_were_not_examined_are_named(self):
        self.assertIn("Not examined because the time ran out: time to swap in a spare; spot: price of a node.", text_of(".note"))

    def test_an_input_that_breaks_a_limit_is_marked(self):
        self.assertEqual(read_off("Change in cost", END), "failure rate (now 100 per 1000 node-days, assumed): at 50 per 1000 node-days: −1.3\u202f%, "
                                                          "at 200 per 1000 node-days: +5.6\u202f% (breaks a limit)")
        self.assertEqual(len(text_of("rect.remarked")), 1)
        self.assertEqual(rows_of("Change in cost")[1][-1], "breaks a limit at 200 per 1000 node-days")

    def test_another_cost_model_moves_the_answer_once(self):
        self.assertEqual(read_off("Change in cost", HOME), "cost model calibrated (assumed): −19.4\u202f%")
        self.assertTrue(any(text.startswith("According to cost model calibrated, elastic_dp with no spares, 2 nodes from the spot market on DP ")
                            for text in text_of("section li")))

    def test_break_even_values_have_their_intervals(self):
        (row,) = rows_of("break-even values")
        self.assertEqual(row[:6], ["failure rate", "per 1000 node-days", "100", "below 50", "40", "62.5"])
        self.assertTrue(row[6].startswith("elastic_dp with no spares, 2 nodes from the spot market on DP "))

    def test_notes_come_before_the_answer(self):
        self.assertEqual(text_of("main li")[0], "Every trial replays the same recording, so there is one run.")


class LatePlan(unittest.TestCase):
    def test_without_an_answer_the_headline_says_what_is_missing(self):
        open_page("late")
        self.assertRegex(text_of("h1")[0], r"^No choice meets the deadline often enough; the closest one meets the deadline in 0\.0 % of runs \(95 % required\) and takes .* on average\.$")
        self.assertEqual(text_of("dl.figures dt")[0], "Nodes of the closest choice")
        self.assertEqual(len(rows_of("the closest choice")), 1)
        self.assertRegex(read_off("Cost against time", END), r"time to finish")


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
        self.assertRegex(read_off("Change in cost", HOME), r"^(mtbf hours|interval steps) \(best at \d+\): at \d+: [+−]?\d")


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
        self.assertRegex(text_of("h1")[0], r"^Nothing is worse: all \d+ figures are the same\.$")
        self.assertIn("Nothing: every value is the same as in the baseline.", text_of(".note"))


class Older(unittest.TestCase):
    def test_what_older_results_lack_is_said_in_place_of_empty_charts(self):
        open_page("older")
        said = " ".join(text_of(".missing"))
        for what in ("the first trial", "the distribution over trials", "the other choices", "the results for other numbers", "the points"):
            self.assertIn(what, said)
