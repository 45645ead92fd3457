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
  CHECK(fault("{}") == " /runs: is missing, want an object: runs by name");
  CHECK(fault(R"({"runs": {}})") == " /runs: is empty, want an object: runs by name");
  CHECK(fault(R"({"runs": {"a/b": {}}})") ==
        " /runs/a~1b: a run's name has no slash: its figures are NAME/METRIC");
  CHECK(fault(R"({"runs": {"": {}}})") == " /runs/: is no name, want 1 to 64 characters of one line");
  CHECK(of_run(R"({"comand": ["whatif"]})") == " /runs/a/comand: unknown key; did you mean \"command\"?");
  CHECK(of_run(R"({"command": "whatif x", "metrics": {}})") ==
        " /runs/a/command: is \"whatif x\", want a list of words: [\"simulate\", \"controlled-5min-gpt-s\"]");
  CHECK(
      of_run(
          R"({"command": ["check", "smoke"], "metrics": {"/x": {"better": "more", "tolerance": "exact"}}})") ==
      " /runs/a/command/0: \"check\" is not run by suites");
  CHECK(of_run(R"({"command": ["whatif", "x"], "metrics": {"goodput": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics: has figures of trials, which only simulate has; a pointer begins with a slash");
  CHECK(of_run(R"({"command": ["whatif"], "metrics": {"/x": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics/~1x: needs \"better\": more, less or same");
  CHECK(
      of_run(
          R"({"command": ["whatif"], "metrics": {"/x": {"better": "more", "tolerance": "1 % at 95 %"}}})") ==
      " /runs/a/metrics/~1x/tolerance: is of trials, and a pointer names one figure");
  CHECK(of_run(R"({"command": ["whatif"], "metrics": {"/x": {"better": "more", "tolerance": "much"}}})") ==
        " /runs/a/metrics/~1x/tolerance: is \"much\", want \"exact\", \"1 %\", \"0.02\", or of trials \"1 % "
        "at 95 %\"");
  CHECK(of_run(R"({"command": ["simulate"], "metrics": {"gootput": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics/gootput: no metric \"gootput\"; did you mean \"goodput\"?; known: steps, samples, "
        "jct_s, p_deadline, samples_per_hour, wall_s, goodput, ettr, running_goodput, efficiency, cost, "
        "samples_per_usd, training_nodes, reconfigurations, restarts, scale_ups, rebalancings, nodes_lost, "
        "steps_lost, saves_skipped, stored_bytes; of a figure of the "
        "policy's "
        "own, say which way is \"better\"");
  CHECK(of_run(R"({"command": ["simulate"], "metrics": {"": {"tolerance": "exact"}}})") ==
        " /runs/a/metrics/: a figure is a pointer, \"/slowdown\", or what trials are measured by");
  const auto of_words = [](const char* words) {
    return of_run(fmt::format(
        R"({{"command": {}, "metrics": {{"/x": {{"better": "more", "tolerance": "exact"}}}}}})", words));
  };
  CHECK(of_words(R"(["--quiet", "check", "smoke"])") ==
        " /runs/a/command/0: want a command first, options behind it");
  CHECK(of_words(R"(["whatif", "-"])") == " /runs/a/command/1: is stdin, of which a suite has none");
  CHECK(of_words(R"(["simulate", "x", "--json=y"])") == " /runs/a/command/2: check gives --json itself");
  CHECK(of_words(R"(["simulate", "x", "--trials", "5"])") ==
        " /runs/a/command/2: check gives --trials itself; a run has \"trials\" beside its command");
  CHECK(of_words(R"(["simulate", "x", "--seed", "5"])").empty());
  CHECK(of_run(R"({"command": ["whatif"], "metrics": {"/a~2": {"better": "more", "tolerance": "exact"}}})") ==
        " /runs/a/metrics/~1a~02: is no JSON pointer: ~ is written ~0, and / within a name ~1");
  CHECK(of_run(R"({"command": ["simulate"], "trials": 1, "metrics": {"goodput": {"tolerance": "exact"}}})") ==
        " /runs/a/trials: is 1: one trial has no interval");
}

}  // namespace
}  // namespace goodput
