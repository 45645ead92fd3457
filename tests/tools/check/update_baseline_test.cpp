#include "tools/check/update_baseline.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tests/support/scripted_runner.h"
#include "tools/check/run_check.h"

namespace goodput {
namespace {

using testing::Script;
using testing::ScriptedRunner;

using Lines = std::vector<std::string>;

MetricRule lower_is_better(const std::string& metric) {
  return {metric, Direction::kLess, "1 %", Tolerance::parse("1 %").value()};
}

Suite three_steps() {
  Suite suite{.file = "mine.json", .name = "mine"};
  for (const char* name : {"a", "b", "c"})
    suite.runs.push_back({name, {"plan-step", "x"}, {lower_is_better("/step_s")}, 0});
  return suite;
}

Script steps() {
  Script script;
  script.values["a/step_s"] = [](std::int64_t) { return 1.0; };
  script.values["b/step_s"] = [](std::int64_t) { return 2.0; };
  script.values["c/step_s"] = [](std::int64_t) { return 3.0; };
  return script;
}

// A run of one policy, of which 40 trials are kept.
Suite forty_trials() {
  Suite suite{.file = "mine.json", .name = "mine"};
  const MetricRule rule{"goodput", Direction::kMore, "1 % at 95 %", Tolerance::parse("1 % at 95 %").value()};
  suite.runs = {{"a", {"simulate", "x"}, {rule}, 40}};
  return suite;
}

Script::Value around(double mean) {
  return [mean](std::int64_t trial) { return mean + 0.001 * static_cast<double>(trial % 7); };
}

BaselineUpdate updated(const Suite& suite, const Baseline& old, const Script& script) {
  const ScriptedRunner runner(script);
  const CheckReport report = check_suite(suite, &old, runner, nullptr, {}).value();
  return update_baseline(suite, &old, &report, runner, 0, 1).value();
}

TEST_CASE("update: a first baseline holds all figures") {
  const BaselineUpdate first =
      update_baseline(three_steps(), nullptr, nullptr, ScriptedRunner(steps()), 5, 2).value();
  CHECK(first.diff ==
        Lines{R"(+ "a/step_s": {"is":1.0})", R"(+ "b/step_s": {"is":2.0})", R"(+ "c/step_s": {"is":3.0})"});
  CHECK(first.baseline.seed == 5);
  CHECK(first.baseline.suite == "mine");
  CHECK(first.baseline.runs.size() == 3);
}

TEST_CASE("update: only what moved beyond its tolerance is rewritten, new lines come and old ones go") {
  Suite suite = three_steps();
  const Baseline old =
      update_baseline(suite, nullptr, nullptr, ScriptedRunner(steps()), 0, 1).value().baseline;
  Script now = steps();
  now.origin.revision = "def";
  now.values["a/step_s"] = [](std::int64_t) { return 1.5; };
  now.values["b/step_s"] = [](std::int64_t) { return 2.001; };  // within 1 %
  suite.runs.erase(suite.runs.begin() + 2);
  suite.runs.push_back({"d", {"plan-step", "x"}, {lower_is_better("/step_s")}, 0});
  now.values["d/step_s"] = [](std::int64_t) { return 4.0; };
  const BaselineUpdate update = updated(suite, old, now);
  CHECK(update.diff == Lines{R"(- "c/step_s": {"is":3.0})", R"(- "a/step_s": {"is":1.0})",
                             R"(+ "a/step_s": {"is":1.5})", R"(+ "d/step_s": {"is":4.0})"});
  CHECK(update.baseline.figures.at("b/step_s").value == 2.0);
  CHECK(update.baseline.runs.at("a").origin.revision == "def");
  CHECK(update.baseline.runs.at("b").origin.revision == "abc");
  CHECK_FALSE(update.baseline.runs.contains("c"));
}

TEST_CASE("update: nothing moved, nothing is rewritten") {
  const Suite suite = three_steps();
  const Baseline old =
      update_baseline(suite, nullptr, nullptr, ScriptedRunner(steps()), 0, 1).value().baseline;
  Script now = steps();
  now.origin.revision = "def";
  const BaselineUpdate update = updated(suite, old, now);
  CHECK(update.diff.empty());
  CHECK(baseline_json(update.baseline) == baseline_json(old));
}

TEST_CASE("update: what moved at a first look is kept with all its trials") {
  Suite suite = forty_trials();
  Script script;
  script.values["a/ds/goodput"] = around(1.0);
  const Baseline old =
      update_baseline(suite, nullptr, nullptr, ScriptedRunner(script), 0, 1).value().baseline;
  CHECK(old.figures.at("a/ds/goodput").trials.size() == 40);
  script.values["a/ds/goodput"] = around(0.9);
  const BaselineUpdate update = updated(suite, old, script);
  const std::vector<double>& trials = update.baseline.figures.at("a/ds/goodput").trials;
  REQUIRE(trials.size() == 40);
  CHECK(trials[39] == 0.9 + 0.001 * (39 % 7));
}

TEST_CASE("update: figures that are the same are kept with as many trials as the suite asks for") {
  Suite suite = forty_trials();
  Script script;
  script.values["a/ds/goodput"] = around(1.0);
  const Baseline old =
      update_baseline(suite, nullptr, nullptr, ScriptedRunner(script), 0, 1).value().baseline;
  suite.runs[0].trials = 100;
  const BaselineUpdate update = updated(suite, old, script);
  CHECK(update.baseline.figures.at("a/ds/goodput").trials.size() == 100);
}

TEST_CASE("update: a command that fails, or a figure that is not there, cannot be stored: nothing is") {
  Script script = steps();
  script.faults["b"] = "no plan \"x\"";
  CHECK(update_baseline(three_steps(), nullptr, nullptr, ScriptedRunner(script), 0, 1).error().message() ==
        "b: no plan \"x\"");
  // As a policy that the scenario's job does not suit.
  class Faulty final : public SuiteRunner {
    Result<RunFigures> run(const SuiteRun& run, TrialRange, std::span<const std::string>) const override {
      return RunFigures{
          .figures = {{.name = run.name + "/step_s", .rule = run.metrics[0], .fault = "it is not there"}}};
    }
  };
  CHECK(update_baseline(three_steps(), nullptr, nullptr, Faulty(), 0, 1).error().message() ==
        "a/step_s cannot be stored: it is not there");
}

}  // namespace
}  // namespace goodput
