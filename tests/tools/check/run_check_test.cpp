#include "tools/check/run_check.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "sim/base/random.h"
#include "tests/support/scripted_runner.h"
#include "tools/check/check_summary.h"
#include "tools/check/update_baseline.h"

namespace goodput {
namespace {

using testing::Script;
using testing::ScriptedRunner;

MetricRule rule_of(const std::string& metric, const char* tolerance, Direction better) {
  return {metric, better, tolerance, Tolerance::parse(tolerance).value()};
}

// A run of trials and one that has none.
Suite two_runs(std::int64_t trials = 64) {
  Suite suite{.file = "mine.json", .name = "mine", .trials = trials};
  suite.runs = {{"a", {"simulate", "x"}, {rule_of("goodput", "1 % at 95 %", Direction::kMore)}, trials},
                {"b", {"plan-step", "x"}, {rule_of("/step_s", "1 %", Direction::kLess)}, trials}};
  return suite;
}

// Around 1 by a tenth, another number for every stream and trial.
double noise(std::uint64_t stream, std::int64_t trial) {
  RandomStream random(stream, "run check", static_cast<std::uint64_t>(trial));
  return random.uniform(0.9, 1.1);
}

Script usual() {
  Script script;
  script.values["a/ds/goodput"] = [](std::int64_t trial) { return noise(1, trial); };
  script.values["a/pec/goodput"] = [](std::int64_t trial) { return noise(2, trial); };
  script.values["b/step_s"] = [](std::int64_t) { return 2.0; };
  return script;
}

Baseline baseline_of(const Suite& suite) {
  return update_baseline(suite, nullptr, nullptr, ScriptedRunner(usual()), 0, 1).value().baseline;
}

CheckReport checked(const Suite& suite, const SuiteRunner& runner, const CheckOptions& options = {}) {
  const Baseline baseline = baseline_of(suite);
  return check_suite(suite, &baseline, runner, nullptr, options).value();
}

const CheckedFigure& figure(const CheckReport& report, const std::string& name) {
  const auto found = std::find_if(report.figures.begin(), report.figures.end(),
                                  [&](const CheckedFigure& one) { return one.name == name; });
  REQUIRE_MESSAGE(found != report.figures.end(), name);
  return *found;
}

TEST_CASE("check: what did not change is the same") {
  const CheckReport report = checked(two_runs(), ScriptedRunner(usual()));
  CHECK(report.count(Outcome::kSame) == 3);
  CHECK(report.verdict() == "ok");
  CHECK(exit_code(report) == ExitCode::kOk);
}

TEST_CASE("check: only policies that are open are run further, and none once all are decided") {
  Script changed = usual();
  changed.values["a/ds/goodput"] = [](std::int64_t trial) { return 0.9 * noise(1, trial); };
  const ScriptedRunner runner(changed);
  const CheckReport report = checked(two_runs(), runner);
  CHECK(runner.asked() == std::vector<std::string>{"a 0+16", "b 0+0", "a 16+16 pec", "a 32+32 pec"});
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kWorse);
  CHECK(figure(report, "a/ds/goodput").test->trials == 16);
  CHECK(figure(report, "a/ds/goodput").change == doctest::Approx(-0.1));
  CHECK(figure(report, "a/pec/goodput").outcome == Outcome::kSame);
  CHECK(report.verdict() == "regression");
  CHECK(exit_code(report) == ExitCode::kRegression);
  CHECK(report.figures.front().name == "a/ds/goodput");  // worst first
}

TEST_CASE("check: which way is better decides between worse and better, and no way makes both a change") {
  Suite suite = two_runs();
  const Baseline baseline = baseline_of(suite);
  Script runner = usual();
  runner.values["b/step_s"] = [](std::int64_t) { return 2.1; };
  const auto outcome = [&](Direction better) {
    suite.runs[1].metrics[0].better = better;
    return figure(check_suite(suite, &baseline, ScriptedRunner(runner), nullptr, {}).value(), "b/step_s")
        .outcome;
  };
  CHECK(outcome(Direction::kLess) == Outcome::kWorse);
  CHECK(outcome(Direction::kMore) == Outcome::kBetter);
  CHECK(outcome(Direction::kSame) == Outcome::kChanged);
}

TEST_CASE("check: figures that fail, are new or are gone are named") {
  Script runner = usual();
  runner.values.erase("a/pec/goodput");
  runner.values["a/lazarus/goodput"] = [](std::int64_t trial) { return noise(3, trial); };
  runner.faults["b"] = "no plan \"x\"";
  const CheckReport report = checked(two_runs(), ScriptedRunner(runner));
  CHECK(figure(report, "b/step_s").outcome == Outcome::kFailed);
  CHECK(figure(report, "b/step_s").reason == "no plan \"x\"");
  CHECK(figure(report, "a/lazarus/goodput").outcome == Outcome::kNew);
  CHECK(figure(report, "a/pec/goodput").outcome == Outcome::kGone);
  CHECK(report.figures.front().name == "b/step_s");
  CHECK(exit_code(report) == ExitCode::kRegression);
}

TEST_CASE("check: what is undecided, new or gone is an error only where it is strict") {
  Script runner = usual();
  // Independent of the baseline's: a scatter of 8 % between two trials leaves 1 % open.
  runner.values["a/ds/goodput"] = [](std::int64_t trial) { return noise(9, trial); };
  CheckReport report = checked(two_runs(), ScriptedRunner(runner));
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kUndecided);
  CHECK(figure(report, "a/ds/goodput").reason ==
        "no decision after 64 trials, which is all that the baseline has; --against another goodput "
        "program runs more");
  CHECK(check_headline(report) == "Nothing is known to be worse, but 1 of 3 figures is undecided.");
  CHECK(report.verdict() == "undecided");
  CHECK(exit_code(report) == ExitCode::kOk);
  report.is_strict = true;
  CHECK(exit_code(report) == ExitCode::kRegression);
  CHECK(check_headline(report) ==
        "Nothing is worse, but --strict counts 1 undecided figure as a regression.");
}

TEST_CASE("check: a command that fails with more trials fails its figures, and others stand") {
  Script runner = usual();
  runner.fails_from["a"] = 32;
  const CheckReport report = checked(two_runs(), ScriptedRunner(runner));
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kFailed);
  CHECK(figure(report, "a/ds/goodput").reason == "no more");
  CHECK(figure(report, "b/step_s").outcome == Outcome::kSame);
}

TEST_CASE("check: when the time is over nothing more is run, and what is open says so") {
  const ScriptedRunner runner(usual());
  CheckOptions options;
  options.is_time_over = [] { return true; };
  const CheckReport report = checked(two_runs(), runner, options);
  CHECK(runner.asked() == std::vector<std::string>{"a 0+16", "b 0+0"});
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kUndecided);
  CHECK(figure(report, "a/ds/goodput").reason == "out of time after 16 of 64 trials; increase --budget-s");
  // Both of a's figures are what they were, which takes 64 trials to say: four times the 60 seconds.
  CHECK(undecided_text(report) ==
        "2 figures are undecided at 16 trials: --budget-s 240 (about 64 trials) should decide them.");
}

TEST_CASE(
    "check: a mean that is not statistical is compared over all trials of the baseline, or not at all") {
  Suite suite = two_runs(40);
  suite.runs[0].metrics[0] = rule_of("goodput", "0.01 %", Direction::kMore);
  const CheckReport report = checked(suite, ScriptedRunner(usual()));
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kSame);
  CheckOptions options;
  options.is_time_over = [] { return true; };
  const CheckReport open = checked(suite, ScriptedRunner(usual()), options);
  CHECK(figure(open, "a/ds/goodput").outcome == Outcome::kUndecided);
  CHECK(figure(open, "a/ds/goodput").reason == "out of time after 16 of 40 trials; increase --budget-s");
}

TEST_CASE("check: another program gives trials beyond the baseline's, until it is decided") {
  const Suite suite = two_runs();
  const Baseline baseline = baseline_of(suite);
  const ScriptedRunner other(usual());
  Script runner = usual();
  runner.values["a/ds/goodput"] = [](std::int64_t trial) { return 0.988 * noise(9, trial); };
  const CheckReport report = check_suite(suite, &baseline, ScriptedRunner(runner), &other, {}).value();
  // Pairs with nothing in common scatter by 8.2 %: 64 of them leave an error of 1 %, 1024 one of 0.26 %.
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kWorse);
  CHECK(figure(report, "a/ds/goodput").test->trials > 64);
  CHECK(figure(report, "a/pec/goodput").outcome == Outcome::kSame);
  REQUIRE(other.asked().size() > 2);
  CHECK(other.asked()[2] == "a 64+64 ds");  // what the baseline holds is not run again
}

TEST_CASE("check: without a baseline the other program is one") {
  const Suite suite = two_runs();
  const ScriptedRunner other(usual());
  Script runner = usual();
  runner.values["b/step_s"] = [](std::int64_t) { return 3.0; };
  const CheckReport report = check_suite(suite, nullptr, ScriptedRunner(runner), &other, {}).value();
  CHECK(figure(report, "b/step_s").outcome == Outcome::kWorse);
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kSame);
}

TEST_CASE(
    "check: another program that is not what the baseline was made with is refused, and so is one that "
    "fails") {
  const Suite suite = two_runs();
  const Baseline baseline = baseline_of(suite);
  Script other = usual();
  other.values["a/ds/goodput"] = [](std::int64_t trial) { return noise(9, trial); };
  const ScriptedRunner another(other);
  CHECK(check_suite(suite, &baseline, ScriptedRunner(usual()), &another, {}).error().message() ==
        "--against: for a/ds/goodput, this program gives other values than the baseline, so another program "
        "made the baseline; leave out --baseline");
  other.faults["a"] = other.faults["b"] = "no such command";
  const ScriptedRunner failing(other);
  CHECK(check_suite(suite, nullptr, ScriptedRunner(usual()), &failing, {}).error().message() ==
        "--against: the program cannot run a: no such command");
}

TEST_CASE("check: what another program does not know is new") {
  Script other = usual();
  other.faults["b"] = "no plan";
  const ScriptedRunner older(other);
  const CheckReport report = check_suite(two_runs(), nullptr, ScriptedRunner(usual()), &older, {}).value();
  CHECK(figure(report, "b/step_s").outcome == Outcome::kNew);
  CHECK(figure(report, "b/step_s").reason == "the other program cannot run this command: no plan");
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kSame);
}

TEST_CASE("check: a small change inside the tolerance is no regression where the time is over early") {
  Script script = usual();
  script.values["a/ds/goodput"] = [](std::int64_t trial) { return 0.997 * noise(1, trial); };
  CheckOptions options;
  options.is_time_over = [] { return true; };
  const CheckReport report = checked(two_runs(), ScriptedRunner(script), options);
  CHECK(figure(report, "a/ds/goodput").outcome == Outcome::kUndecided);
  CHECK(figure(report, "a/ds/goodput").test->excludes_none());
  CHECK(figure(checked(two_runs(), ScriptedRunner(script)), "a/ds/goodput").outcome == Outcome::kSame);
}

TEST_CASE("check: --fail-fast begins no more trials once something is worse, and says so of what is open") {
  Script script = usual();
  script.values["a/ds/goodput"] = [](std::int64_t trial) { return 0.9 * noise(1, trial); };
  CheckOptions options;
  options.stops_at_regression = true;
  const ScriptedRunner runner(script);
  const CheckReport report = checked(two_runs(), runner, options);
  CHECK(runner.asked() == std::vector<std::string>{"a 0+16", "b 0+0"});
  CHECK(figure(report, "a/pec/goodput").reason ==
        "stopped by --fail-fast after 16 trials, because another figure got worse");
  CHECK(
      undecided_text(report) ==
      "1 figure is undecided at 16 trials: --fail-fast ended the check; leave out --fail-fast to decide it.");
}

TEST_CASE("check: a baseline of fewer trials than a first look is compared trial by trial all the same") {
  const Baseline few = baseline_of(two_runs(8));
  const ScriptedRunner other(usual());
  for (const SuiteRunner* program :
       {static_cast<const SuiteRunner*>(nullptr), static_cast<const SuiteRunner*>(&other)}) {
    const CheckReport report = check_suite(two_runs(64), &few, ScriptedRunner(usual()), program, {}).value();
    CHECK(report.count(Outcome::kSame) == 3);
  }
}

TEST_CASE("check: why something moved names what differs in the inputs, then the parts that moved most") {
  const Suite suite = two_runs();
  Script before = usual();
  before.parts["ds"] = {{"productive_s", 90}, {"checkpoint_save_s", 9}, {"program_startup_s", 1}};
  const Baseline baseline =
      update_baseline(suite, nullptr, nullptr, ScriptedRunner(before), 0, 1).value().baseline;
  Script runner = before;
  runner.values["a/ds/goodput"] = [](std::int64_t trial) { return 0.9 * noise(1, trial); };
  runner.parts["ds"] = {{"productive_s", 81}, {"checkpoint_save_s", 18}, {"program_startup_s", 1.05}};
  const auto why = [&] {
    return figure(check_suite(suite, &baseline, ScriptedRunner(runner), nullptr, {}).value(), "a/ds/goodput")
        .why;
  };
  CHECK(why() == std::vector<std::string>{"config, calibration and code revision are unchanged",
                                          "checkpoint_save_s: 18, was 9", "productive_s: 81, was 90"});
  runner.origin = {"0.1.0", "def", "11aa", ""};
  CHECK(why().at(0) == "config hash: 11aa, was 00ff");
  CHECK(why().at(1) == "code: 0.1.0 (def), was 0.1.0 (abc)");
  runner.origin = {"0.1.0", "abc", "11aa", "h200.json 0123"};
  CHECK(why().at(0) == "calibration: h200.json 0123, was none");
}

TEST_CASE("check: the number of threads changes nothing") {
  const Suite suite = two_runs();
  Script runner = usual();
  runner.values["a/ds/goodput"] = [](std::int64_t trial) { return 0.97 * noise(9, trial); };
  const CheckReport one = checked(suite, ScriptedRunner(runner));
  CheckOptions many;
  many.jobs = 4;
  const CheckReport four = checked(suite, ScriptedRunner(runner), many);
  REQUIRE(one.figures.size() == four.figures.size());
  for (std::size_t i = 0; i < one.figures.size(); ++i) {
    CHECK(one.figures[i].name == four.figures[i].name);
    CHECK(one.figures[i].outcome == four.figures[i].outcome);
    CHECK(one.figures[i].p_value == four.figures[i].p_value);
  }
}

}  // namespace
}  // namespace goodput
