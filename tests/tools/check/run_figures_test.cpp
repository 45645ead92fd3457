#include "tools/check/run_figures.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace goodput {
namespace {

MetricRule rule(const std::string& metric, const char* tolerance, Direction better = Direction::kMore) {
  return {metric, better, tolerance, Tolerance::parse(tolerance).value()};
}

constexpr const char* kSimulation = R"({
  "schema": "goodput.simulate/1", "version": "1.2.3", "revision": "abc", "seed": 0, "config_hash": "00ff",
  "calibration": null,
  "policies": {
    "ds": {"refused": null, "time_s": {"productive": 10.5, "program_startup": 0.0, "checkpoint_save": 2}},
    "pec": {"refused": "no expert fits", "time_s": {}}},
  "trials_by_policy": {"ds": {"goodput": [0.5, 0.25], "jct_s": [100, null]}}})";

SuiteRun simulation(std::vector<MetricRule> metrics) {
  return {.name = "run", .command = {"simulate", "x"}, .metrics = std::move(metrics), .trials = 2};
}

TEST_CASE("run figures: a metric of trials is one figure a policy, with a value a trial") {
  const RunFigures read = figures_of(simulation({rule("goodput", "1 % at 95 %")}), kSimulation).value();
  REQUIRE(read.figures.size() == 2);
  CHECK(read.figures[0].name == "run/ds/goodput");
  CHECK(read.figures[0].values == std::vector{0.5, 0.25});
  CHECK(read.figures[1].name == "run/pec/goodput");
  CHECK(read.figures[1].fault == "no expert fits");
  CHECK(read.origin == RunOrigin{"1.2.3", "abc", "00ff", ""});
}

TEST_CASE("run figures: where time goes are the parts, what takes none is left out") {
  const RunFigures read = figures_of(simulation({rule("goodput", "exact")}), kSimulation).value();
  CHECK(read.parts.at("ds") == Parts{{"checkpoint_save_s", 2}, {"productive_s", 10.5}});
}

TEST_CASE("run figures: trials without a value, and metrics that nobody has, are faults of the figure") {
  const RunFigures read =
      figures_of(simulation({rule("jct_s", "exact"), rule("own", "exact")}), kSimulation).value();
  CHECK(read.figures[0].fault ==
        "1 of 2 trials have no jct_s: they did not reach the goal, or no price is set");
  CHECK(read.figures[0].values.empty());
  CHECK(read.figures[1].fault == "trials of ds have no \"own\"");
}

TEST_CASE("run figures: a metric of a policy's own is a figure of that policy only") {
  std::string two = kSimulation;
  two.replace(two.find("\"no expert fits\""), 16, "null");
  two.replace(two.find("\"jct_s\": [100, null]}"), 21, "\"x\": [1, 1]}, \"pec\": {\"plt\": [0.5, 0]}");
  const RunFigures read = figures_of(simulation({rule("plt", "exact", Direction::kLess)}), two).value();
  REQUIRE(read.figures.size() == 1);
  CHECK(read.figures[0].name == "run/pec/plt");
  CHECK(read.figures[0].values == std::vector{0.5, 0.0});
}

TEST_CASE("run figures: one run of a recording has values, but no confidence") {
  std::string one_run = kSimulation;
  one_run.insert(one_run.find("\"policies\""),
                 R"("recordings": {"one_run": true, "note": "one run: ..."}, )");
  const RunFigures read =
      figures_of(simulation({rule("goodput", "1 % at 95 %"), rule("goodput", "1 %")}), one_run).value();
  CHECK(read.is_one_run);
  CHECK(read.figures[0].fault ==
        "every trial would replay the same recording from the same start, so there is only one run, without "
        "a confidence interval; use a tolerance without a confidence level");
  CHECK(read.figures[1].fault.empty());
  CHECK(!figures_of(simulation({rule("goodput", "1 %")}), kSimulation).value().is_one_run);
}

TEST_CASE("run figures: a pointer names one number, or anything at all that is compared exactly") {
  const SuiteRun run{.name = "step",
                     .command = {"plan-step", "x"},
                     .metrics = {rule("/step_s", "1 %"), rule("/memory/fits", "exact"),
                                 rule("/memory", "1 %"), rule("/mfu", "1 %")}};
  const RunFigures read =
      figures_of(run, R"({"schema": "goodput.plan-step/1", "step_s": 0.25, "memory": {"fits": true},
                          "critical_path": [{"op": "forward", "time_s": 0.2}, {"op": "backward", "time_s": 0.05}]})")
          .value();
  CHECK(read.figures[0].name == "step/step_s");
  CHECK(read.figures[0].values == std::vector{0.25});
  CHECK(read.figures[1].text == "true");
  CHECK(read.figures[2].fault == "/memory is not a number and can only be compared exactly");
  CHECK(read.figures[3].fault == "the result has no /mfu");
  CHECK(read.parts.at("") == Parts{{"forward_s", 0.2}, {"backward_s", 0.05}});
}

TEST_CASE("run figures: what is no result, or not the one expected, is said in one line") {
  const SuiteRun run = simulation({rule("goodput", "exact")});
  CHECK(figures_of(run, "").error().message() == "the command has no JSON result");
  CHECK(figures_of(run, "{}").error().message() == "the command has no JSON result");
  CHECK(figures_of(run, "[1").error().message() == "the command has no JSON result");
  const std::string other = figures_of(run, R"({"schema": "goodput.simulate/1"})").error().message();
  CHECK(other.starts_with("the result of the command is not as expected: "));
  SuiteRun no_pointer{.name = "x", .command = {"whatif"}, .metrics = {rule("/a~", "exact")}};
  CHECK(figures_of(no_pointer, R"({"schema": "goodput.x/1"})")
            .error()
            .message()
            .starts_with("the result of the command is not as expected: "));
}

}  // namespace
}  // namespace goodput
