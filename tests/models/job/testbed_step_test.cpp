// Steps of the plans that are shipped, against what is known of the machines they are of.
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <array>
#include <tuple>

#include "models/cost/cost_models.h"
#include "models/job/job_step.h"
#include "models/step/gpu_parameters.h"
#include "models/step/step_report.h"
#include "tests/support/placement_case.h"
#include "tests/support/step_case.h"

namespace goodput {

using testing::LayerLoads;
using testing::placed;
using testing::shipped_plan;
using testing::timed;

TEST_CASE("moe step: the testbed's models compute and move what their shapes say") {
  struct Expected {
    const char* plan;
    double tflop, expert_tflop, all_to_all_mb, six_slots_mb, four_slots_mb, dense_mb;
  };
  for (const Expected& expected : {Expected{"lazarus-gpt-s", 3.50, 1.39, 6.3, 680, 453, 136},
                                   Expected{"lazarus-gpt-m", 5.60, 2.47, 8.4, 1209, 805, 206},
                                   Expected{"lazarus-gpt-l", 5.60, 2.47, 8.4, 1209, 805, 206}}) {
    const TrainingPlan plan = shipped_plan(expected.plan);
    const double tokens = 4 * 1024;
    const double h = plan.model.hidden;
    const double f = plan.model.moe->expert_ffn;
    const double expert_mb = 2 * parameters_of_expert(plan.model) / 1e6;  // fp16
    INFO(expected.plan);
    CHECK(1e-12 * tokens * hardware_flops_per_token(plan) == doctest::Approx(expected.tflop).epsilon(0.003));
    CHECK(1e-12 * tokens * 12 * 12 * h * f == doctest::Approx(expected.expert_tflop).epsilon(0.003));
    CHECK(1e-6 * tokens * 2 * h == doctest::Approx(expected.all_to_all_mb).epsilon(0.005));
    CHECK(12 * 6 * expert_mb == doctest::Approx(expected.six_slots_mb).epsilon(0.002));
    CHECK(12 * 4 * expert_mb == doctest::Approx(expected.four_slots_mb).epsilon(0.002));
    CHECK(2e-6 * parameters_at(plan, {}, {{0, 12}}, 0).dense ==
          doctest::Approx(expected.dense_mb).epsilon(0.005));
  }
}

TEST_CASE("moe step: on the testbed's nodes steps take what a bottom-up model of them says") {
  // 28 TFLOP/s, 6.25 GB/s a GPU and rings, without a constant (means over 10 to 5 nodes, iteration 201).
  struct Row {
    const char* plan;
    std::size_t experts;
    std::int32_t ep;
    double flexible, expert_parallel;  // seconds of that model
    double ours_flexible, ours_expert_parallel;
  };
  constexpr double kOfModel = 0.06;  // kernels that wait for memory are in ours and not in that one
  constexpr double kOfOurs = 0.02;
  for (const Row& row : {Row{"lazarus-gpt-s", 8, 2, 0.42, 0.50, 0.399, 0.522},
                         Row{"lazarus-gpt-m", 12, 2, 0.69, 1.08, 0.721, 1.127},
                         Row{"lazarus-gpt-l", 16, 4, 0.73, 1.19, 0.698, 1.210}}) {
    const auto loads = testing::published_loads(201, row.experts);
    if (!loads) {
      MESSAGE("skipped: no shared data");
      return;
    }
    const TrainingPlan plan = shipped_plan(row.plan);
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE(cost);
    const MoeStepModel model(plan, **cost, BatchRule::kPerReplica);
    std::array<double, 2> mean{};
    for (std::int32_t nodes = 10; nodes >= 5; --nodes) {
      mean[0] += to_seconds(timed(model.flexible(placed(*loads, {nodes, 6, 1}), *loads)).step) / 6;
      mean[1] += to_seconds(timed(model.expert_parallel(nodes, {row.ep}, *loads)).step) / 6;
    }
    MESSAGE(fmt::format("{}: flexible {:.3f} s ({:.2f}), expert-parallel {:.3f} s ({:.2f})", row.plan,
                        mean[0], row.flexible, mean[1], row.expert_parallel));
    CHECK(mean[0] == doctest::Approx(row.flexible).epsilon(kOfModel));
    CHECK(mean[1] == doctest::Approx(row.expert_parallel).epsilon(kOfModel));
    CHECK(mean[0] == doctest::Approx(row.ours_flexible).epsilon(kOfOurs));
    CHECK(mean[1] == doctest::Approx(row.ours_expert_parallel).epsilon(kOfOurs));
  }
}

TEST_CASE("moe step: GPT-L is faster on five nodes than on six, where fewer replicas fit") {
  const TrainingPlan plan = shipped_plan("lazarus-gpt-l");
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  const MoeStepModel model(plan, **cost, BatchRule::kPerReplica);
  // 5 nodes x 6 slots cannot hold 16 experts twice: f falls to 1, and most experts have nobody to agree with.
  const LayerLoads loads = testing::zipf_loads({12, 16, 1, 1});
  CHECK(timed(model.flexible(placed(loads, {5, 6, 1}), loads)).step <
        timed(model.flexible(placed(loads, {6, 6, 1}), loads)).step);
}

TEST_CASE("moe step: DeepSeek-V3 on nodes of eight GPUs is timed though it does not fit") {
  const TrainingPlan plan = shipped_plan("lazarus-deepseek-v3-512");
  const auto cost = make_cost_model(cost_inputs(plan));
  REQUIRE(cost);
  const MoeStepModel model(plan, **cost, BatchRule::kPerReplica);
  CHECK(model.moe_layers() == 58);
  CHECK(model.usable_nodes(127, 64) == 120);
  const LayerLoads loads = testing::zipf_loads({58, 256, 0.5, 1});
  const StepTime flexible = timed(model.flexible(placed(loads, {32, 32, 8}), loads));
  const StepTime parallel = timed(model.expert_parallel(32, {64}, loads));
  CHECK(flexible.step < parallel.step);
  CHECK(flexible.samples == 256);
  const auto memory = model.flexible_memory(64, 32);
  REQUIRE(memory);
  CHECK(!memory->fits());
  // 4 slots of 58 layers and of multi-token prediction, 44.04 million parameters each; Adam's 12 bytes.
  const double experts = 12 * 4 * 59 * 3.0 * 7168 * 2048;
  CHECK(static_cast<double>(memory->stages[0].optimizer.value) > experts);
  CHECK(static_cast<double>(memory->stages[0].optimizer.value) < 1.25 * experts);
  MESSAGE(memory->verdict());
}

TEST_CASE("moe step: the A10G plans accumulate 20 micro-batches") {
  for (const auto& [name, experts, ep] :
       {std::tuple{"lazarus-a10g-gpt-s", 8U, 2}, std::tuple{"lazarus-a10g-gpt-m", 12U, 2},
        std::tuple{"lazarus-a10g-gpt-l", 16U, 4}}) {
    const TrainingPlan plan = shipped_plan(name);
    CHECK(plan.parallel.micro_batches() == 20);
    const auto cost = make_cost_model(cost_inputs(plan));
    REQUIRE(cost);
    const MoeStepModel model(plan, **cost, BatchRule::kPerReplica);
    const LayerLoads loads = testing::zipf_loads({12, experts, 1, 1});
    CHECK(timed(model.expert_parallel(16, {ep}, loads)).samples == 16 * 80);
    CHECK(timed(model.flexible(placed(loads, {16, 6, 1}), loads)).samples == 16 * 80);
  }
}

}  // namespace goodput
