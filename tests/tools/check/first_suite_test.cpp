#include "tools/check/first_suite.h"

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "tests/support/scripted_runner.h"
#include "tests/traces/io/temporary_file.h"
#include "tools/check/suite.h"

namespace goodput {
namespace {

using testing::Script;
using testing::ScriptedRunner;

// 1 and 1 + by in turn: of 64 trials a standard error of by / 2 / sqrt(63).
Script::Value alternating(double by) {
  return [by](std::int64_t trial) { return trial % 2 == 0 ? 1.0 : 1.0 + by; };
}

// A run of 1000 s and 400 steps, whatever the trial.
void add_steps(Script& script, const std::string& policy) {
  script.values[policy + "/wall_s"] = [](std::int64_t) { return 1000.0; };
  script.values[policy + "/steps"] = [](std::int64_t) { return 400.0; };
}

class CommandsSeen final : public SuiteRunner {
 public:
  explicit CommandsSeen(Script script) : runner_(std::move(script)) {}

  [[nodiscard]] Result<RunFigures> run(const SuiteRun& run, TrialRange trials,
                                       std::span<const std::string> policies) const override {
    commands_.push_back(fmt::format("{}", fmt::join(run.command, " ")));
    return runner_.run(run, trials, policies);
  }
  [[nodiscard]] const std::vector<std::string>& commands() const { return commands_; }

 private:
  ScriptedRunner runner_;
  mutable std::vector<std::string> commands_{};
};

TEST_CASE(
    "first suite: the tolerance is half of a change of 1 %, with as many trials as it takes to find that") {
  Script script;
  // Trials scatter by far more than 1 %, but their pairs change alike: by 0.6 % and 1.4 % in turn, with a
  // standard error of 0.4 % / sqrt(63) = 0.05 % of 1.05, of which three are within 0.5 %.
  script.values["x/ds/goodput"] = alternating(0.1);
  script.values["x, 1 % slower/ds/goodput"] = [](std::int64_t trial) {
    return trial % 2 == 0 ? 1.0 - 0.006 : 1.1 - 0.014;
  };
  add_steps(script, "x/ds");
  const FirstSuite suite = first_suite({"folder/x.json"}, ScriptedRunner(script), 1).value();
  const auto json = Json::parse(suite.json);
  CHECK(json["runs"]["x"]["command"] == Json({"simulate", "folder/x.json"}));
  CHECK(json["runs"]["x"]["metrics"]["goodput"]["tolerance"] == "0.5 % at 95 %");
  CHECK_FALSE(json["runs"]["x"].contains("trials"));
  REQUIRE(suite.notes.size() == 1);
  CHECK(suite.notes[0] ==
        "x goodput: 64 trials measure a change to within 0.048 %, so the tolerance is 0.5 % at 95 %");
  const TemporaryFile file("suite.json", suite.json);
  CHECK(read_suite(file.path()).has_value());

  // By 8 % and -6 % in turn: 7 % / sqrt(63) / 1.05 = 0.84 %. Of 512 trials 0.30 %: three are within 1 %.
  script.values["x, 1 % slower/ds/goodput"] = [](std::int64_t trial) {
    return trial % 2 == 0 ? 1.0 - 0.08 : 1.1 + 0.06;
  };
  const auto noisy = Json::parse(first_suite({"x"}, ScriptedRunner(script), 1).value().json);
  CHECK(noisy["runs"]["x"]["trials"] == 512);
  CHECK(noisy["runs"]["x"]["metrics"]["goodput"]["tolerance"] == "1 % at 95 %");
}

TEST_CASE(
    "first suite: a policy is slowed down by 1 % of its time, in its steps, beside what slows them already") {
  Script script;
  script.values["x/ds/goodput"] = alternating(0.1);
  script.values["x/scenario/policies/ds/step_overhead_s"] = [](std::int64_t) { return 0.5; };
  add_steps(script, "x/ds");
  const CommandsSeen runner(script);
  REQUIRE(first_suite({"x"}, runner, 1));
  // 1000 s of 400 steps are 2.5 s each, of which 1 % is 0.025 s.
  CHECK(runner.commands() == std::vector<std::string>{"simulate x", "simulate x",
                                                      "simulate x --set /policies/ds/step_overhead_s=0.525"});
}

TEST_CASE(
    "first suite: where nothing scatters the tolerance is fixed, and changes that are all alike have the "
    "least") {
  Script script;
  script.values["x/ds/samples_per_hour"] = alternating(0);
  script.values["x, 1 % slower/ds/samples_per_hour"] = [](std::int64_t) { return 0.99; };
  script.values["x/ds/goodput"] = alternating(0.1);
  script.values["x, 1 % slower/ds/goodput"] = alternating(0.1);
  add_steps(script, "x/ds");
  const auto json = Json::parse(first_suite({"x"}, ScriptedRunner(script), 1).value().json);
  CHECK(json["runs"]["x"]["metrics"]["samples_per_hour"]["tolerance"] == "0.01 %");
  CHECK(json["runs"]["x"]["metrics"]["goodput"]["tolerance"] == "0.5 % at 95 %");
}

TEST_CASE(
    "first suite: of jobs that finish it is the time they take that counts, and the noisiest policy "
    "decides") {
  // Neither can be slowed down, so that their trials share nothing: two means differ by
  // sqrt(2) 0.5 / 2 / sqrt(63) / 1.25 = 3.6 %, of 512 trials by 1.3 %, three times that is 3.8 %.
  Script script;
  script.values["x/ds/jct_s"] = alternating(0.01);
  script.values["x/pec/jct_s"] = alternating(0.5);
  script.values["x/ds/samples_per_hour"] = alternating(0.01);
  const auto json = Json::parse(first_suite({"x"}, ScriptedRunner(script), 1).value().json);
  CHECK(json["runs"]["x"]["trials"] == 512);
  CHECK(json["runs"]["x"]["metrics"]["jct_s"]["tolerance"] == "5 % at 95 %");
  CHECK_FALSE(json["runs"]["x"]["metrics"].contains("samples_per_hour"));
}

TEST_CASE("first suite: a name that no run can have is refused") {
  const std::string longest(65, 'x');
  Script script;
  script.values[longest + "/ds/goodput"] = alternating(0.1);
  CHECK(
      first_suite({longest}, ScriptedRunner(script), 1)
          .error()
          .message()
          .ends_with("(65 characters) is not a valid name; a name must have 1 to 64 characters on one line"));
}

TEST_CASE("first suite: scenarios that cannot be told apart or run are refused") {
  Script script;
  script.values["x/ds/goodput"] = alternating(0.1);
  const ScriptedRunner runner(script);
  CHECK(first_suite({"x", "there/x.json"}, runner, 1).error().message() ==
        "--init: two scenarios are named \"x\"; rename one of them");
  CHECK(first_suite({"y"}, runner, 1).error().message() == "--init: no policy can run y");
  script.faults["x"] = "x.json: no such file";
  CHECK(first_suite({"x"}, ScriptedRunner(script), 1).error().message() == "x.json: no such file");
}

}  // namespace
}  // namespace goodput
