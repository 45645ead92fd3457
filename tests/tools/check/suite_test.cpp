#include "tools/check/suite.h"

#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>

#include "tests/traces/io/temporary_file.h"

namespace goodput {
namespace {

// What is wrong with a suite of this text, without the name of its file.
std::string fault(const std::string& text) {
  const TemporaryFile file("suite.json", text);
  const auto suite = read_suite(file.path());
  if (suite) return "";
  const std::string message = suite.error().message();
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : message;
}

std::string of_run(const std::string& run) {
  return fault(fmt::format(R"({{"runs": {{"a": {}}}}})", run));
}

TEST_CASE("suite: the shipped one runs every kind of command, with files seen from where it lies") {
  const Suite suite = read_suite(GOODPUT_CONFIGS "/suites/smoke.json").value();
  CHECK(suite.name == "smoke");
  for (const char* command : {"simulate", "whatif", "plan-step", "placement", "checkpoint"}) {
    CHECK(std::any_of(suite.runs.begin(), suite.runs.end(),
                      [&](const SuiteRun& run) { return run.command.front() == command; }));
  }
  const auto trace = std::find_if(suite.runs.begin(), suite.runs.end(),
                                  [](const SuiteRun& run) { return run.name == "trace"; });
  CHECK(trace->command[1] == GOODPUT_CONFIGS "/suites/smoke/trace.json");
}

TEST_CASE(
    "suite: what trials are measured by knows which way is better, and a run keeps as many as the suite") {
  const TemporaryFile file("mine.json",
                           R"({"trials": 10, "runs": {"a": {"command": ["simulate", "x"], "metrics":
    {"goodput": {"tolerance": "1 % at 95 %"}, "jct_s": {"tolerance": "exact"}, "own": {"better": "same", "tolerance": "2"}}}}})");
  const Suite suite = read_suite(file.path()).value();
  REQUIRE(suite.runs.size() == 1);
  CHECK(suite.runs[0].trials == 10);
  CHECK(suite.runs[0].has_trials());
  CHECK(suite.runs[0].metrics[0].direction() == Direction::kMore);
  CHECK(suite.runs[0].metrics[1].direction() == Direction::kLess);
  CHECK(suite.runs[0].metrics[2].direction() == Direction::kSame);
}

TEST_CASE("suite: every mistake is named with its place and what mends it") {
  CHECK(fault("{}") == " /runs: is missing; it must be an object with the runs by name");
  CHECK(fault(R"({"runs": {}})") == " /runs: is empty; expected an object with the runs by name");
  CHECK(fault(R"({"runs": {"a/b": {}}})") ==
        " /runs/a~1b: a run's name must not contain a slash, because its figures are named NAME/METRIC");
  CHECK(fault(R"({"runs": {"": {}}})") ==
        " /runs/: is not a valid name; a name must have 1 to 64 characters on one line");
  CHECK(of_run(R"({"comand": ["whatif"]})") == " /runs/a/comand: unknown key; did you mean \"command\"?");
  CHECK(of_run(R"({"command": "whatif x", "metrics": {}})") ==
        " /runs/a/command: must be a list of words such as [\"simulate\", \"controlled-5min-gpt-s\"], not "
        "\"whatif x\"");
  CHECK(
      of_run(
          R"({"command": ["check", "smoke"], "metrics": {"/x": {"better": "more", "tolerance": "exact"}}})") ==
      " /runs/a/command/0: \"check\" cannot be run by a suite");
  CHECK(of_run(R"({"command": ["whatif", "x"], "metrics": {"goodput": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics: names trial metrics, which only goodput simulate has; start a JSON pointer with a "
        "slash");
  CHECK(of_run(R"({"command": ["whatif"], "metrics": {"/x": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics/~1x: needs \"better\": more, less or same");
  CHECK(
      of_run(
          R"({"command": ["whatif"], "metrics": {"/x": {"better": "more", "tolerance": "1 % at 95 %"}}})") ==
      " /runs/a/metrics/~1x/tolerance: has a confidence level, but a JSON pointer names a single figure, "
      "which has no trials; leave the confidence level out");
  CHECK(of_run(R"({"command": ["whatif"], "metrics": {"/x": {"better": "more", "tolerance": "much"}}})") ==
        " /runs/a/metrics/~1x/tolerance: must be \"exact\", \"1 %\", \"0.02\" or, with several trials, \"1 % "
        "at 95 %\", not \"much\"");
  CHECK(of_run(R"({"command": ["simulate"], "metrics": {"gootput": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics/gootput: unknown metric \"gootput\"; did you mean \"goodput\"?; known: steps, "
        "samples, "
        "jct_s, p_deadline, samples_per_hour, wall_s, goodput, ettr, running_goodput, efficiency, cost, "
        "samples_per_usd, training_nodes, reconfigurations, restarts, scale_ups, rebalancings, nodes_lost, "
        "steps_lost, saves_skipped, stored_bytes; if it is the policy's own metric, add \"better\"");
  CHECK(of_run(R"({"command": ["simulate"], "metrics": {"": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics/: a metric must be a JSON pointer such as \"/slowdown\", or the name of a trial "
        "metric");
  const auto of_words = [](const char* words) {
    return of_run(fmt::format(
        R"({{"command": {}, "metrics": {{"/x": {{"better": "more", "tolerance": "exact"}}}}}})", words));
  };
  CHECK(of_words(R"(["--quiet", "check", "smoke"])") ==
        " /runs/a/command/0: must be a command, not an option; options come after the command");
  CHECK(of_words(R"(["whatif", "-"])") ==
        " /runs/a/command/1: means stdin, which a suite does not have; name a file");
  CHECK(of_words(R"(["simulate", "x", "--json=y"])") ==
        " /runs/a/command/2: goodput check sets --json itself; leave it out");
  CHECK(of_words(R"(["simulate", "x", "--trials", "5"])") ==
        " /runs/a/command/2: goodput check sets --trials itself; use \"trials\" next to \"command\"");
  CHECK(of_words(R"(["simulate", "x", "--seed", "5"])").empty());
  CHECK(of_run(R"({"command": ["whatif"], "metrics": {"/a~2": {"better": "more", "tolerance": "exact"}}})") ==
        " /runs/a/metrics/~1a~02: is not a JSON pointer; write ~ as ~0, and / within a name as ~1");
  CHECK(of_run(R"({"command": ["simulate"], "trials": 1, "metrics": {"goodput": {"tolerance": "exact"}}})") ==
        " /runs/a/trials: must not be 1, because one trial has no confidence interval");
}

}  // namespace
}  // namespace goodput
