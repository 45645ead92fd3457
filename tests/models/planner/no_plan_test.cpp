// Questions that no plan answers: why, and how many GPUs would do.
#include "models/planner/no_plan.h"

#include <doctest/doctest.h>

#include <string>

#include "tests/support/random_plan.h"

namespace goodput {
namespace {

std::string no_plan(const TrainingPlan& base, std::int64_t gpus, const PlanSpace& space = {}) {
  const auto search = search_plans(base, gpus, space, {});
  REQUIRE_MESSAGE(search, (search ? "" : search.error().message()));
  REQUIRE(search->best.empty());
  REQUIRE_FALSE(search->closest);
  return no_plan_text(base, gpus, space, *search);
}

// 8 layers on nodes of 8 GPUs, a batch of 64 and sequences too short to be split.
TrainingPlan base_of_64() {
  TrainingPlan base = testing::small_plan();
  base.parallel.global_batch = 64;
  base.cluster.nodes = 1000;
  return base;
}

}  // namespace

TEST_CASE("no plan: dp has what pp, tp and cp leave of the GPUs, and has to divide the batch") {
  // 88 = 8 x 11. At most 8 stages cannot have the 11, so that dp has it: 11 to 88.
  // 80 has pp 5 x tp 8 x dp 2, 96 has pp 6 x tp 8 x dp 2.
  CHECK(no_plan(base_of_64(), 88) ==
        "no parallel plan uses exactly 88 GPUs: tp x cp x pp x dp = 88, with pp up to the model's 8 layers, "
        "allows only dp 11, 22, 44, 88, none of which divides the batch of 64; the nearest GPU counts that "
        "work and fill whole nodes: 80 or 96");
}

TEST_CASE("no plan: of many dp the smallest are named") {
  // 1320 = 8 x 3 x 5 x 11: dp is 1320 over tp of 1 to 8 and pp of 1 to 6 or 8, 12 numbers from 1320 / 40 on.
  const std::string text = no_plan(base_of_64(), 1320);
  CHECK(text.find("allows only dp 33, 55, 66, 110, 132, 165 and 6 more, none of which") != std::string::npos);
}

TEST_CASE("no plan: sizes that the question fixes leave none, or one that does not divide the batch") {
  PlanSpace space;
  space.tp = {8};
  space.pp = {3};
  CHECK(no_plan(base_of_64(), 64, space) ==
        "no parallel plan uses exactly 64 GPUs: no tp, cp, pp and dp in the search multiply to that number; "
        "the nearest GPU counts that work and fill whole nodes: 48 or 96");  // dp 2 and 4
  space.pp = {1};
  space.micro_batch = {1};  // two kinds of recomputation, with ZeRO 0, 1 and 3
  CHECK(no_plan(base_of_64(), 24, space) ==
        "no parallel plan uses exactly 24 GPUs: global batch is not a multiple of dp x micro_batch (6); the "
        "nearest GPU counts that work and fill whole nodes: 16 or 32");
}

TEST_CASE("no plan: where no number of GPUs would do none is named") {
  PlanSpace space;
  space.tp = space.pp = space.cp = {1};
  space.dp = {4};
  CHECK(no_plan(base_of_64(), 8, space) ==
        "no parallel plan uses exactly 8 GPUs: no tp, cp, pp and dp in the search multiply to that number");
}

}  // namespace goodput
