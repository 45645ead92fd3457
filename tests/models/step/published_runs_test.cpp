// Predictions of training runs whose step times or utilisation were published. The table goes to
// docs/validation.md. What is checked is that our own figures stay what they are: a miss is reported, not
// hidden.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "tests/support/step_case.h"

namespace goodput {
namespace {

struct PublishedRun {
  std::string plan;
  double published;  // seconds a step, or MFU where it is below 1
  double ours;
};

StepReport predict(TrainingPlan plan) {
  plan.parallel = settled(plan.parallel, plan.cluster.gpus_per_node);
  REQUIRE(check_training_plan(plan));
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  const auto step = build_planned_step(plan, **cost, Granularity::kLayers, 0);
  REQUIRE(step);
  return report_step(plan, *step);
}

}  // namespace

TEST_CASE("plan-step: published runs are predicted as docs/validation.md says" *
          doctest::test_suite("release-only")) {
  const std::vector<PublishedRun> runs = {
      // Korthikanti et al. 2022, table 5: seconds an iteration on A100; another campaign than the fitted one.
      {"megatron-22b-8-a100-full", 1.42, 1.428},
      {"megatron-22b-8-a100-selective", 1.10, 1.080},
      {"megatron-175b-64-a100-full", 18.13, 17.077},
      {"megatron-175b-64-a100-selective", 13.75, 12.719},
      {"megatron-530b-280-a100-full", 49.05, 46.541},
      {"megatron-530b-280-a100-selective", 37.83, 34.910},
      {"megatron-1t-512-a100-full", 94.42, 92.342},
      {"megatron-1t-512-a100-selective", 71.49, 69.468},
      // Narayanan et al. 2021: 140 TFLOP/s per GPU on 1024 A100. A quarter of that is recomputation.
      {"gpt3-175b-1024-a100", 0.337, 0.392},
      // Llama 3, table 4: MFU. gemm_efficiency of the H100 is calibrated on the first.
      {"llama3-405b-8k-h100", 0.43, 0.434},
      {"llama3-405b-16k-h100", 0.41, 0.406},
      {"llama3-405b-16k-h100-131k", 0.38, 0.347},
      // DeepSeek-V3: 2.664 M H800 hours for 14.8 T tokens, 62.9 M tokens a step on 2048 GPUs.
      {"deepseek-v3-2048-h800", 19.91, 18.07},
  };
  for (const PublishedRun& run : runs) {
    const StepReport report = predict(testing::shipped_plan(run.plan));
    const double predicted = run.published < 1 ? report.mfu : to_seconds(report.step);
    MESSAGE(fmt::format("| {} | {} | {:.3g} | {:+.1f} % |", run.plan, run.published, predicted,
                        100 * (predicted / run.published - 1)));
    CHECK(predicted == doctest::Approx(run.ours).epsilon(0.02));
  }
}

TEST_CASE("plan-step: without its own software, DeepSeek-V3 is predicted as before goodput knew dispatchers" *
          doctest::test_suite("release-only")) {
  TrainingPlan plan = testing::shipped_plan("deepseek-v3-2048-h800");
  const auto stack = read_stack(GOODPUT_CONFIGS "/stacks/default.json", {.folders = {GOODPUT_CONFIGS}});
  REQUIRE(stack);
  use_stack(plan, *stack);
  plan.parallel.dispatcher = TokenDispatcher::kAllToAll;
  plan.parallel.dispatch_bytes = 0;
  plan.parallel.expert_matmuls = ExpertMatmuls::kBatched;
  plan.parallel.fp8_recipe = Fp8Recipe::kFree;
  CHECK(to_seconds(predict(plan).step) == doctest::Approx(23.394).epsilon(1e-4));
  // The tokens' own limit of four nodes, and one copy per node: 6.8 s.
  plan.parallel.dispatcher = TokenDispatcher::kHierarchical;
  CHECK(to_seconds(predict(plan).step) == doctest::Approx(16.575).epsilon(1e-4));
}

}  // namespace goodput
