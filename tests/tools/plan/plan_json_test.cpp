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

}  // namespace
}  // namespace goodput
