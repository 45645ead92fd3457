// Plans of sizes that nobody trains: what can be counted has times and bytes that are, and all else is
// refused with a figure that holds.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "models/cost/roofline.h"
#include "models/schedule/schedule.h"
#include "models/step/memory_model.h"
#include "models/step/planned_step.h"
#include "models/step/step_costs.h"
#include "sim/base/random.h"
#include "tests/support/random_plan.h"

namespace goodput::testing {
namespace {

// Evenly in the logarithm, 1 to 10^digits.
std::int64_t any_size(RandomStream& random, double digits) {
  return std::llround(std::pow(10, random.uniform(0, digits)));
}

std::int64_t unit_of(const ParallelPlan& parallel) {
  return std::int64_t{parallel.cp} * (parallel.sequence_parallel ? parallel.tp : 1);
}

// A random plan with sequences of up to 1e9 tokens, micro-batches of up to 1e9 sequences in all, on GPUs and
// links between a millionth of those of today and a million times as fast.
TrainingPlan extreme_plan(std::uint64_t seed) {
  TrainingPlan plan = random_plan(seed);
  RandomStream random(seed, "extreme");
  ParallelPlan& parallel = plan.parallel;
  const std::int64_t micro_batches = parallel.micro_batches();
  const std::int64_t most = 1'000'000'000 / (parallel.dp * micro_batches);
  parallel.micro_batch = static_cast<std::int32_t>(std::min(any_size(random, 9), most));
  parallel.global_batch = std::int64_t{parallel.dp} * parallel.micro_batch * micro_batches;
  const std::int64_t unit = unit_of(parallel);
  parallel.sequence_length = std::max(unit, any_size(random, 9) / unit * unit);
  plan.cluster.gpu.bf16.value *= std::pow(10, random.uniform(-6, 6));
  plan.cluster.gpu.memory_bandwidth.value *= std::pow(10, random.uniform(-6, 6));
  plan.cluster.intra_node.bandwidth.value *= std::pow(10, random.uniform(-6, 6));
  return plan;
}

Result<PlannedStep> build(const TrainingPlan& plan) {
  return build_planned_step(plan, RooflineCost(plan.cluster, plan.roofline), Granularity::kOps, 7);
}

void check_countable(const TrainingPlan& plan, const PlannedStep& step) {
  double total_ns = 0;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    const auto row = step.row(op).first(step.lanes.lanes());
    for (const double time : row) REQUIRE(time >= 0);
    total_ns += *std::max_element(row.begin(), row.end());
  }
  CHECK(total_ns > 0);
  CHECK(total_ns <= 1e9 * kLongestStepS);
  for (const double bytes : step.nic_bytes) CHECK((bytes >= 0 && std::isfinite(bytes)));
  const auto schedule = find_schedule(plan.parallel.schedule);
  REQUIRE(schedule);
  for (const StageMemory& stage : estimate_memory(plan, **schedule).stages) {
    for (const Bytes bytes :
         {stage.weights, stage.gradients, stage.optimizer, stage.activations, stage.working})
      CHECK(bytes.value >= 0);
    CHECK(stage.total().value > 0);
  }
}

// "must be at most N ...": with N it can be built, with any more it cannot.
void check_longest(TrainingPlan plan, const std::string& message) {
  const std::string before = "must be at most ";
  const std::int64_t longest = std::stoll(message.substr(message.find(before) + before.size()));
  CHECK(longest < plan.parallel.sequence_length);
  plan.parallel.sequence_length = longest;
  CHECK(check_training_plan(plan));
  CHECK(build(plan));
  plan.parallel.sequence_length = longest + unit_of(plan.parallel);
  CHECK_FALSE(build(plan));
}

}  // namespace

TEST_CASE("planned step: extreme plans take a time that can be counted or are refused by what is at fault" *
          doctest::test_suite("slow")) {
  int built = 0, too_long = 0, too_slow = 0;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const TrainingPlan plan = extreme_plan(seed);
    CAPTURE(to_string(plan));
    if (!check_training_plan(plan)) continue;
    const auto step = build(plan);
    if (step) {
      ++built;
      check_countable(plan, *step);
    } else if (step.error().where.pointer == "/parallel/sequence_length") {
      ++too_long;
      check_longest(plan, step.error().what);
    } else {
      ++too_slow;
      CHECK(step.error().what == "is so slow that a step could take 104 days");
      TrainingPlan shortest = plan;
      shortest.parallel.sequence_length = unit_of(plan.parallel);
      CHECK_FALSE(build(shortest));
    }
  }
  CHECK(built > 100);
  CHECK(too_long > 50);
  CHECK(too_slow > 10);
}

}  // namespace goodput::testing
