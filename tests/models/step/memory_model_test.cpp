#include "models/step/memory_model.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>

#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::small_plan;

const PipelineSchedule& schedule_of(const TrainingPlan& plan) {
  const auto found = find_schedule(plan.parallel.schedule);
  REQUIRE(found);
  return **found;
}

MemoryReport memory_of(const TrainingPlan& plan) {
  REQUIRE(check_training_plan(plan));
  return estimate_memory(plan, schedule_of(plan));
}

std::int32_t alive(std::string_view schedule, const ScheduleShape& shape, std::int32_t stage) {
  const auto found = find_schedule(schedule);
  REQUIRE(found);
  return alive_peaks(**found, shape)[static_cast<std::size_t>(stage)].most();
}

}  // namespace

TEST_CASE("memory: a layer keeps s b h (34 + 5 a s / h) bytes, divided by t where norms are sharded too") {
  // Korthikanti et al. 2022, equations 1 and 4.
  TrainingPlan plan = small_plan();
  plan.model.biases = true;
  plan.parallel.fused_attention = false;
  const double s = 1024, h = 512, a = 8, layers = 8;
  const double expected = layers * s * h * (34 + 5 * a * s / h);
  const auto activations = static_cast<double>(memory_of(plan).stages[0].activations.value);
  MESSAGE(fmt::format("{} bytes, closed form {}", activations, expected));
  CHECK(activations == expected);
  plan.parallel.tp = 4;
  plan.parallel.sequence_parallel = true;
  CHECK(static_cast<double>(memory_of(plan).stages[0].activations.value) == expected / 4);
  plan.parallel.recompute = Recompute::kSelective;  // equation 6: without the scores
  CHECK(static_cast<double>(memory_of(plan).stages[0].activations.value) == layers * s * h * 34 / 4);
  plan.parallel.recompute = Recompute::kNone;
  plan.parallel.sequence_parallel = false;  // equation 2: 10 of the 34 stay whole
  CHECK(static_cast<double>(memory_of(plan).stages[0].activations.value) ==
        layers * s * h * (10 + 24.0 / 4 + 5 * a * s / (h * 4)));
  plan.parallel.recompute = Recompute::kFull;  // the input of every layer
  CHECK(static_cast<double>(memory_of(plan).stages[0].activations.value) == layers * s * h * 2);
}

TEST_CASE(
    "memory: mixed precision keeps 2 bytes of weights, gradients, and 12 of optimizer state a parameter") {
  TrainingPlan plan = small_plan();
  plan.parallel.gradient_bytes = 4;
  plan.parallel.dp = 4;
  plan.parallel.global_batch = 8;
  plan.model.vocab = 128 * 400;
  const std::int64_t parameters =
      model_parameters(plan.model).total - model_parameters(plan.model).final_norm;
  const StageMemory plain = memory_of(plan).stages[0];
  CHECK(plain.weights.value == 2 * parameters);
  CHECK(plain.gradients.value == 4 * parameters);
  CHECK(plain.optimizer.value == 12 * parameters);
  plan.parallel.zero = 1;
  CHECK(memory_of(plan).stages[0].optimizer.value == 3 * parameters);
  CHECK(memory_of(plan).stages[0].gradients.value == 4 * parameters);
  plan.parallel.zero = 2;
  CHECK(memory_of(plan).stages[0].gradients.value == 4 * parameters);  // two micro-batches add up
  plan.parallel.global_batch = 4;
  CHECK(memory_of(plan).stages[0].gradients.value == parameters);
  CHECK(memory_of(plan).stages[0].weights.value == 2 * parameters);
  plan.parallel.zero = 3;
  CHECK(memory_of(plan).stages[0].weights.value == parameters / 2);
}

TEST_CASE("memory: 1F1B keeps p - s micro-batches alive, GPipe all, ZB-H1 no more than 1F1B's first stage") {
  for (int p = 1; p <= 8; ++p) {
    for (int m = 1; m <= 16; ++m) {
      for (int s = 0; s < p; ++s) {
        CHECK(alive("1f1b", {p, 1, m}, s) == std::min(m, p - s));
        CHECK(alive("gpipe", {p, 1, m}, s) == m);
        CHECK(alive("zb-h1", {p, 1, m}, s) <= p);
      }
    }
  }
  // DualPipe: p + 1 over both directions (DeepSeek-V3 report, table 2); of one direction at most half of p,
  // and one.
  for (int p = 2; p <= 8; p += 2) {
    for (int s = 0; s < p; ++s) CHECK(alive("dualpipe", {p, 1, 4 * p}, s) <= p + 1);
  }
}

TEST_CASE("memory: in a V a tied weight is held once, and stage 0 has the logits") {
  // 8 layers on 2 stages: both have 4, as two chunks of 2. Stage 0 has the table of vocab x hidden once if
  // the head is tied to it and twice if not; 1F1B has one on each end either way.
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 2;
  plan.model.vocab = 128 * 400;
  const auto weights = [&](const char* schedule, bool tied, std::size_t stage) {
    plan.parallel.schedule = schedule;
    plan.model.tied_head = tied;
    return memory_of(plan).stages[stage].weights.value;
  };
  const std::int64_t table = std::int64_t{2} * plan.model.vocab * plan.model.hidden;
  for (const char* schedule : {"zb-v", "v-half", "dualpipev"}) {
    CAPTURE(schedule);
    const std::int64_t layers = weights(schedule, true, 1);
    CHECK(weights(schedule, true, 0) == layers + table);
    CHECK(weights(schedule, false, 0) == layers + 2 * table);
    CHECK(weights(schedule, false, 1) == layers);
    CHECK(weights("1f1b", true, 0) == layers + table);
    CHECK(weights("1f1b", true, 1) == layers + table);
    plan.parallel.schedule = schedule;
    CHECK(memory_of(plan).stages[0].working > Bytes{});
    CHECK(memory_of(plan).stages[1].working == Bytes{});
  }
}

TEST_CASE("memory: ZB-V keeps as many activations as the first stage of 1F1B, V-half (p+2)/2p of them") {
  TrainingPlan plan = small_plan();
  plan.parallel.pp = 4;
  plan.parallel.global_batch = 16;
  const auto activations = [&](const char* schedule) {
    plan.parallel.schedule = schedule;
    std::vector<std::int64_t> by_stage;
    for (const StageMemory& stage : memory_of(plan).stages) by_stage.push_back(stage.activations.value);
    return *std::max_element(by_stage.begin(), by_stage.end());
  };
  const std::int64_t one = activations("1f1b") / 4;  // micro-batch of a stage; stage 0 has p alive
  CHECK(activations("zb-v") == 4 * one);
  CHECK(activations("v-half") == 3 * one);
  CHECK(2 * activations("dualpipev") == 9 * one);  // 2p + 1 chunks
}

TEST_CASE("memory: the verdict names the fullest stage and what fills it, largest first") {
  TrainingPlan plan = small_plan();
  plan.cluster.gpu.memory = Bytes{std::int64_t{2} << 30};
  CHECK(memory_of(plan).verdict().starts_with("does not fit, "));
  CHECK(memory_of(plan).verdict().find(" of 2.0 GiB on stage 0: ") != std::string::npos);
  CHECK_FALSE(memory_of(plan).fits());
  plan.cluster.gpu.memory = Bytes{std::int64_t{80} << 30};
  CHECK(memory_of(plan).verdict().starts_with("fits, "));
}

}  // namespace goodput
