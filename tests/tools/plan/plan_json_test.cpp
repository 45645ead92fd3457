#include <doctest/doctest.h>

#include "sim/base/json.h"
#include "tests/tools/plan/small_question.h"
#include "tools/plan/plan_report.h"

namespace goodput {
namespace {

TEST_CASE("plan: the JSON says true, false or null for an input that may break a limit") {
  PlanAnswer answer;
  answer.sensitivity.inputs = {{.input = "repair_s",
                                .unit = "s",
                                .value = 100,
                                .shifts = {{.factor = 0.5, .value = 50, .within_limits = true},
                                           {.factor = 2, .value = 200, .within_limits = false},
                                           {.factor = 4, .value = 400}}}};
  const PlanQuestion question = small_question();
  OrderedJson json;
  add_plan_json({question, answer}, json);
  const OrderedJson& shifts = json["sensitivity"][0]["shifts"];
  REQUIRE(shifts[0]["within_limits"].is_boolean());  // not 1.0
  CHECK(shifts[0]["within_limits"].get<bool>());
  REQUIRE(shifts[1]["within_limits"].is_boolean());
  CHECK_FALSE(shifts[1]["within_limits"].get<bool>());
  CHECK(shifts[2]["within_limits"].is_null());
}

TEST_CASE("plan: the JSON lists each policy of the question with its plans and steps, or the reason") {
  ParallelPlan fast;
  fast.tp = 8;
  ParallelPlan slow;
  slow.pp = 4;
  PlanAnswer answer;
  answer.policies = {{"checkpoint", {{fast, from_seconds(2)}, {slow, from_seconds(2.5)}}, ""},
                     {"mine", {{slow, std::nullopt}}, ""},
                     {"ds", {}, "the model has no experts; choose another policy"}};
  answer.refused["mine"] = {1, 3, "too many nodes"};
  const PlanQuestion question = small_question();
  OrderedJson json;
  add_plan_json({question, answer}, json);
  const OrderedJson& contenders = json["contenders"];
  REQUIRE(contenders.size() == 3);
  CHECK(contenders[0]["policy"] == "checkpoint");
  CHECK(contenders[0]["parallel"]["tp"] == 8);
  CHECK(contenders[0]["step_s"] == 2);
  REQUIRE(contenders[0]["plans"].size() == 2);
  CHECK(contenders[0]["plans"][1]["parallel"]["pp"] == 4);
  CHECK(contenders[0]["plans"][1]["step_s"] == 2.5);
  CHECK_FALSE(contenders[0].contains("reason"));
  CHECK(contenders[1]["step_s"].is_null());
  CHECK(contenders[1]["refused"]["choices"] == 1);
  CHECK(contenders[2]["reason"] == "the model has no experts; choose another policy");
  CHECK_FALSE(contenders[2].contains("plans"));
  CHECK(json["options"]["policy"].empty());
}

}  // namespace
}  // namespace goodput
