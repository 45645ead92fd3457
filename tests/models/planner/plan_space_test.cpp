#include "models/planner/plan_space.h"

#include <doctest/doctest.h>

#include <string>

#include "sim/base/json.h"

namespace goodput {
namespace {

Status read_space(PlanSpace& space, const std::string& text) {
  config::Place place;
  place.file = "question.json";
  place.pointer = "/space";
  return config::object(space).read(Json::parse(text), place);
}

std::string problem_of_space(const std::string& text) {
  PlanSpace space;
  const Status read = read_space(space, text);
  return read ? "" : read.error().message();
}

}  // namespace

TEST_CASE("plan space: lists are read, written and read again") {
  PlanSpace space;
  const std::string text =
      R"({"tp": [1, 8], "zero": [0, 3], "recompute": ["none", "full"], "schedules": ["1f1b", "zb-h1"]})";
  REQUIRE(read_space(space, text));
  CHECK(space.tp == std::vector{1, 8});
  CHECK(space.zero == std::vector{0, 3});
  CHECK(space.recompute == std::vector{Recompute::kNone, Recompute::kFull});
  CHECK(space.schedules == std::vector<std::string>{"1f1b", "zb-h1"});
  CHECK(space.pp.empty());
  const OrderedJson written = config::write(config_fields(space));
  CHECK(written["recompute"].dump() == R"(["none","full"])");
  CHECK(written["schedules"].dump() == R"(["1f1b","zb-h1"])");
  PlanSpace again;
  REQUIRE(read_space(again, written.dump()));
  CHECK(again.recompute == space.recompute);
  CHECK(again.schedules == space.schedules);
  CHECK(again.tp == space.tp);
}

TEST_CASE("plan space: what is wrong names its place in the list") {
  CHECK(problem_of_space(R"({"tp": [1, 0]})")
            .starts_with("question.json /space/tp/1: must be an integer from 1 to 10000000, not 0"));
  CHECK(problem_of_space(R"({"zero": [4]})")
            .starts_with("question.json /space/zero/0: must be an integer from 0 to 3, not 4"));
  CHECK(problem_of_space(R"({"recompute": "full"})") ==
        R"(question.json /space/recompute: must be an array of "none", "selective", "full", not "full")");
  CHECK(problem_of_space(R"({"recompute": ["all"]})").starts_with("question.json /space/recompute/0: "));
  CHECK(problem_of_space(R"({"schedules": [1]})") ==
        "question.json /space/schedules/0: must be a string, not 1");
  CHECK(problem_of_space(R"({"schedules": ["1f1b", "zb-h2"]})")
            .starts_with("question.json /space/schedules/1: unknown schedule \"zb-h2\"; did you mean"));
}

}  // namespace goodput
