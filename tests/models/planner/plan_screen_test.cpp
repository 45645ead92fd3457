#include "models/planner/plan_screen.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::small_plan;

// The phrase under which the plan is counted after a change; empty: it is fine.
std::string phrase_after(const std::function<void(TrainingPlan&)>& change) {
  TrainingPlan plan = small_plan();
  plan.model.moe = MoeShape{.experts = 8, .top_k = 2, .expert_ffn = 512};
  plan.file = "plan.json";
  plan.pointer = "/plan";
  change(plan);
  const auto broken = broken_rule(plan);
  REQUIRE(broken);
  return *broken ? std::string(to_string(**broken)) : "";
}

}  // namespace

TEST_CASE("plan screen: every broken rule has its phrase") {
  CHECK(phrase_after([](TrainingPlan&) {}).empty());
  CHECK(phrase_after([](TrainingPlan& plan) { plan.parallel.tp = 3; }) == "tp does not divide the model");
  CHECK(phrase_after([](TrainingPlan& plan) { plan.parallel.cp = 3; }) ==
        "cp x tp do not divide the sequence");
  CHECK(phrase_after([](TrainingPlan& plan) {
          plan.parallel.sequence_length = 1022;
          plan.parallel.tp = 4;
          plan.parallel.sequence_parallel = true;
        }) == "cp x tp do not divide the sequence");
  CHECK(phrase_after([](TrainingPlan& plan) { plan.parallel.ep = 8; }) ==
        "ep does not divide the experts, or dp x cp x tp / etp");
  CHECK(phrase_after([](TrainingPlan& plan) {
          plan.model.moe = MoeShape{.experts = 8, .expert_ffn = 64};
          plan.parallel.etp = 3;
        }) == "etp does not suit the model, tp or sequence_parallel");
  CHECK(phrase_after([](TrainingPlan& plan) {
          plan.parallel.dp = 8;
          plan.parallel.zero = 1;
          plan.parallel.zero_instances = 3;
        }) == "zero_instances do not divide dp, or cut up expert parallelism");
  CHECK(phrase_after([](TrainingPlan& plan) { plan.parallel.micro_batch = 3; }) ==
        "global batch is not a multiple of dp x micro_batch");
  CHECK(phrase_after([](TrainingPlan& plan) { plan.parallel.pp = 16; }) ==
        "too few layers for the pipeline positions");
  CHECK(phrase_after([](TrainingPlan& plan) {  // 16 positions, 8 layers
          plan.parallel.schedule = "zb-v";
          plan.parallel.pp = 8;
        }) == "too few layers for the pipeline positions");
  CHECK(phrase_after([](TrainingPlan& plan) { plan.parallel.vpp = 2; }) == "vpp does not suit the schedule");
}

TEST_CASE("plan screen: schedules want their numbers of stages and micro-batches") {
  CHECK(phrase_after([](TrainingPlan& plan) {
          plan.parallel.schedule = "dualpipe";
          plan.parallel.pp = 1;
        }) == "pp does not suit the schedule");
  CHECK(phrase_after([](TrainingPlan& plan) {
          plan.parallel.schedule = "interleaved";
          plan.parallel.pp = plan.parallel.vpp = 2;
          plan.parallel.global_batch = 3;
        }) == "micro-batches do not suit the schedule");
  CHECK(phrase_after([](TrainingPlan& plan) {
          plan.parallel.pp = 8;
          plan.parallel.global_batch = 1'000'000;
        }) == "too many ops in a step");
}

TEST_CASE("plan screen: what no candidate can mend is an error") {
  TrainingPlan plan = small_plan();
  plan.file = "plan.json";
  plan.parallel.dtype = Dtype::kFp8;
  const auto broken = broken_rule(plan);
  REQUIRE_FALSE(broken);
  CHECK(broken.error().message() ==
        "plan.json /parallel/dtype: is \"fp8\", but GPU \"A100-like\" does not support it (no fp8_tflops)");
}

}  // namespace goodput
