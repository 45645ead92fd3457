// The sentences that a check begins with.
#include "tools/check/check_summary.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tools/check/verdicts.h"

namespace goodput {
namespace {

CheckedFigure moved_figure(const std::string& name, Outcome outcome, double baseline, double now,
                           const char* tolerance) {
  CheckedFigure figure{.name = name, .run = "a", .outcome = outcome, .baseline = baseline, .figure = now};
  figure.rule.metric = name.substr(name.find('/') + 1);
  figure.rule.tolerance = Tolerance::parse(tolerance).value();
  figure.is_relative = figure.rule.tolerance.kind != Tolerance::Kind::kAbsolute;
  figure.change = figure.is_relative ? (now - baseline) / baseline : now - baseline;
  return figure;
}

CheckReport report_of(std::vector<CheckedFigure> figures) {
  static const Suite suite{.file = "mine.json", .name = "mine"};
  CheckReport report{suite};
  report.figures = std::move(figures);
  return report;
}

CheckedFigure open_figure(OpenQuestion question) {
  CheckedFigure figure{.name = "a/ds/goodput", .run = "a", .policy = "ds", .outcome = Outcome::kUndecided};
  figure.open = question;
  return figure;
}

using Why = OpenQuestion::Cause;

TEST_CASE("check headline: a figure that got worse has its unit, its change and what was tolerated") {
  CHECK(check_headline(report_of({moved_figure("a/step_s", Outcome::kWorse, 2, 2.5, "1 %"),
                                  moved_figure("a/step_s", Outcome::kWorse, 2, 2.1, "1 %")})) ==
        "This change makes 2 of 2 figures worse, most of all step in run a: 2 -> 2.5 s, +25 % (tolerance 1 "
        "%).");
  // From 50 to 47 % are three points.
  CHECK(
      check_headline(report_of({moved_figure("a/waste", Outcome::kWorse, 0.5, 0.47, "0.01")})) ==
      "This change makes 1 of 1 figure worse: waste in run a: 50 % -> 47 %, -3 percentage points (tolerance "
      "0.01).");
}

TEST_CASE("check headline: what moved and should not, what failed and what is slower are named") {
  CHECK(check_headline(report_of({moved_figure("a/slowdown", Outcome::kChanged, 1.25, 1.5, "exact")})) ==
        "This change moves 1 of 1 figure that should stay the same: slowdown in run a: 1.25 -> 1.5, +20 % "
        "(no change is allowed).");
  CheckedFigure text{.name = "a/verdict", .run = "a", .outcome = Outcome::kChanged, .reason = "is 1, was 2"};
  CHECK(check_headline(report_of({text})) ==
        "This change moves 1 of 1 figure that should stay the same: verdict in run a is 1, was 2.");
  CheckedFigure failed{
      .name = "a/ds/x", .run = "a", .policy = "ds", .outcome = Outcome::kFailed, .reason = "no"};
  CHECK(check_headline(report_of({failed})) == "Policy ds in scenario a failed: no.");
  failed.policy.clear();
  CHECK(
      check_headline(report_of({failed, failed, moved_figure("a/step_s", Outcome::kWorse, 2, 3, "1 %")})) ==
      "Run a failed (2 figures failed): no. This change makes 1 of 3 figures worse: step in run a: 2 -> 3 s, "
      "+50 % (tolerance 1 %).");
  CheckReport slower = report_of({});
  slower.speeds = {
      {.run = "a", .rounds = 5, .baseline_s = 0.1, .program_s = 0.12, .noise = {1, 1}, .ratio = {1.2, 1.2}}};
  CHECK(check_headline(slower) == "Run a takes 1.200x as long: 100.0 ms -> 120.0 ms (noise 0.0 %).");
}

TEST_CASE("check headline: without a regression it says that nothing is worse, and what is better") {
  const CheckedFigure same = moved_figure("a/step_s", Outcome::kSame, 2, 2, "1 %");
  CHECK(check_headline(report_of({})) == "There are no figures to compare.");
  CHECK(check_headline(report_of({same})) == "Nothing is worse: the only figure is the same.");
  CHECK(check_headline(report_of({same, same})) == "Nothing is worse: all 2 figures are the same.");
  CHECK(check_headline(report_of({moved_figure("a/jct_s", Outcome::kBetter, 100, 90, "1 %"), same})) ==
        "Nothing is worse, and this change makes 1 of 2 figures better: job completion time in run a: 100 -> "
        "90 "
        "s, -10 % (tolerance 1 %).");
  CheckReport report = report_of({same, {.name = "a/x", .run = "a", .outcome = Outcome::kNew}});
  CHECK(check_headline(report) == "Nothing is worse: 1 the same, 1 new.");
  report.is_strict = true;
  CHECK(check_headline(report) == "Nothing is worse, but --strict counts 1 new figure as a regression.");
}

TEST_CASE("check: what is undecided is one line that says how many figures and what should decide them") {
  CHECK(undecided_text(report_of({})).empty());
  // Time for 80 trials where 60 s were enough for 20: four times as much, in two digits.
  CheckReport report =
      report_of({open_figure({Why::kOutOfTime, 20, 128, 80}), open_figure({Why::kOutOfTime, 20, 128, 40})});
  CHECK(undecided_text(report) ==
        "2 figures are undecided at 20 trials: --budget-s 240 (about 80 trials) should decide them.");
  // The baseline has 64 trials, for which 192 s are enough.
  report.figures[0].open->needed = 256;
  report.figures[0].open->most = report.figures[1].open->most = 64;
  CHECK(undecided_text(report) ==
        "2 figures are undecided at 20 trials: --budget-s 200 is enough for all 64 possible trials; about "
        "256 trials should decide them.");
  report.figures[0].open = OpenQuestion{Why::kBaselineEnds, 64, 64, {}};
  report.figures[1].open = OpenQuestion{Why::kAllTrials, 4096, 4096, 8192};
  report.figures.push_back(open_figure({Why::kNoTrials, 0, 0, {}}));
  CHECK(undecided_text(report) ==
        "3 figures are undecided: 1 at 64 trials: more trials are unlikely to decide it; widen the "
        "tolerance; 1 at 4096 trials: about 8192 trials should decide it; 1: the baseline has too few trials "
        "to compare; rebuild it with --update.");
}

TEST_CASE("check: the trials that should decide a figure follow from the width of its interval") {
  const Tolerance one_percent = Tolerance::parse("1 % at 95 %").value();
  MeanChange change{.change = -0.03, .is_relative = true, .interval = {-0.07, 0.01}, .trials = 20};
  // A half width of 4 % has to become 3 %: 20 (4/3)^2 = 35.6 trials, and the next look is at 64.
  CHECK(trials_needed(change, one_percent, 1024) == 64);
  // No change seen: a half width of 4 % has to become 1 %: 20 * 16 = 320, and the next look is at 512.
  change = {.change = 0, .is_relative = true, .interval = {-0.04, 0.04}, .trials = 20};
  CHECK(trials_needed(change, one_percent, 1024) == 512);
  // An interval inside the tolerance lacks only the 64 trials that `same` takes, or all there are.
  change = {.change = 0, .is_relative = true, .interval = {0, 0}, .trials = 16};
  CHECK(trials_needed(change, one_percent, 1024) == 64);
  CHECK(trials_needed(change, one_percent, 32) == 32);
  // 0.0001 % would have to be told from 0.
  change = {.change = 1e-6, .is_relative = true, .interval = {-1, 1}, .trials = 16};
  CHECK(trials_needed(change, Tolerance::parse("0.0001 % at 95 %").value(), 1024) == std::nullopt);
}

}  // namespace
}  // namespace goodput
