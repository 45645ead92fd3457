#include "tools/check/first_suite.h"

#include <doctest/doctest.h>

#include <cmath>
#include <string>

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

TEST_CASE(
    "first suite: tolerances are twice what two means differ by, rounded up, and fixed where nothing "
    "scatters") {
  Script script;
  script.values["x/ds/samples_per_hour"] = alternating(0);
  script.values["x/ds/goodput"] =
      alternating(0.1);  // sqrt(2) 0.1 / 2 / sqrt(63) / 1.05: 0.85 %, twice that 1.7 %
  const FirstSuite suite = first_suite({"folder/x.json"}, ScriptedRunner(script), 1).value();
  const auto json = Json::parse(suite.json);
  CHECK(json["runs"]["x"]["command"] == Json({"simulate", "folder/x.json"}));
  CHECK(json["runs"]["x"]["metrics"]["goodput"]["tolerance"] == "2 % at 95 %");
  CHECK(json["runs"]["x"]["metrics"]["samples_per_hour"]["tolerance"] == "0.01 %");
  REQUIRE(suite.notes.size() == 2);
  CHECK(suite.notes[0] == "x goodput: two means of 64 trials differ by 0.85 %, tolerance 2 % at 95 %");
  const TemporaryFile file("suite.json", suite.json);
  CHECK(read_suite(file.path()).has_value());
}

TEST_CASE(
    "first suite: of jobs that finish it is the time they take that counts, and the noisiest policy "
    "decides") {
  Script script;
  script.values["x/ds/jct_s"] = alternating(0.01);
  script.values["x/pec/jct_s"] = alternating(0.5);  // 3.6 %, twice that 7.1 %
  script.values["x/ds/samples_per_hour"] = alternating(0.01);
  const auto json = Json::parse(first_suite({"x"}, ScriptedRunner(script), 1).value().json);
  CHECK(json["runs"]["x"]["metrics"]["jct_s"]["tolerance"] == "10 % at 95 %");
  CHECK_FALSE(json["runs"]["x"]["metrics"].contains("samples_per_hour"));
}

TEST_CASE("first suite: a name that no run can have is refused") {
  const std::string longest(65, 'x');
  Script script;
  script.values[longest + "/ds/goodput"] = alternating(0.1);
  CHECK(first_suite({longest}, ScriptedRunner(script), 1)
            .error()
            .message()
            .ends_with("(65 characters) is no name, want 1 to 64 characters of one line"));
}

TEST_CASE("first suite: scenarios that cannot be told apart or run are refused") {
  Script script;
  script.values["x/ds/goodput"] = alternating(0.1);
  const ScriptedRunner runner(script);
  CHECK(first_suite({"x", "there/x.json"}, runner, 1).error().message() ==
        "--init: two scenarios are called \"x\"");
  CHECK(first_suite({"y"}, runner, 1).error().message() == "--init: no policy can run y");
  script.faults["x"] = "x.json: no such file";
  CHECK(first_suite({"x"}, ScriptedRunner(script), 1).error().message() == "x.json: no such file");
}

}  // namespace
}  // namespace goodput
