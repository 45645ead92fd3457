#include "models/step/step_frame.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <span>
#include <vector>

#include "models/step/gpu_parameters.h"
#include "models/step/paired_passes.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "tests/support/random_cases.h"
#include "tests/support/random_plan.h"

namespace goodput {
namespace {

using testing::random_plan;
using testing::to_string;

// The values of the plan, and the frame that they are for.
struct FramedPlan {
  explicit FramedPlan(const TrainingPlan& plan, double cost_factor = 1)
      : schedule(**find_schedule(plan.parallel.schedule)),
        layout(schedule, schedule_shape(plan.parallel)),
        frame(*StepFrame::build(schedule, schedule_shape(plan.parallel), step_features(plan, schedule),
                                layout)) {
    TrainingPlan priced = plan;
    priced.cluster.gpu.bf16 = {cost_factor * plan.cluster.gpu.bf16.value};
    const RooflineCost cost(priced.cluster, priced.roofline);
    const StepRouting routing = drawn_routing(plan, 7);
    const BlockPrices blocks(priced, cost, routing, Granularity::kLayers);
    has_slowest_rank = blocks.have_slowest_rank();
    ranks = blocks.ranks();
    values = layout.values(compute_step_costs(priced, schedule, cost, routing, blocks));
    const auto step = build_planned_step(priced, cost, Granularity::kLayers, 7);
    REQUIRE(step);
    expected = step_time(*step);
    for (OpId op = 0; op < step->ops.size(); ++op) total += step->row(op)[0];
  }

  const PipelineSchedule& schedule;
  StepLayout layout;
  StepFrame frame;
  std::vector<double> values;
  bool has_slowest_rank = false;
  std::int32_t ranks = 1;
  SimDuration expected{};
  double total = 0;
};

}  // namespace

TEST_CASE("step frame: random plans take what their steps take layer by layer, to the nanosecond" *
          doctest::test_suite("slow")) {
  int compared = 0;
  int in_turn = 0;
  for (std::uint64_t seed = 0; seed < testing::cases(1200); ++seed) {
    const TrainingPlan plan = random_plan(seed);
    const FramedPlan framed(plan);
    INFO("seed ", seed, " ", to_string(plan));
    CHECK(framed.has_slowest_rank);
    if (framed.ranks > 1 && !framed.schedule.is_recordable()) continue;  // ranks get ahead of each other
    CHECK(framed.frame.step_times(std::span(&framed.values, 1)).front() == framed.expected);
    if (framed.ranks == 1) CHECK(framed.frame.total(framed.values) == framed.total);
    ++compared;
    in_turn += framed.layout.has_pairs() ? 1 : 0;
  }
  CHECK(compared > static_cast<int>(testing::cases(1000)));
  CHECK(in_turn > static_cast<int>(testing::cases(50)));
}

TEST_CASE("step frame: plans that differ in costs only are timed side by side") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    TrainingPlan plan = random_plan(seed);
    plan.expert_load.skew = 0;
    INFO("seed ", seed, " ", to_string(plan));
    std::vector<std::vector<double>> values;
    std::vector<SimDuration> expected;
    for (int i = 1; i <= 70; i += 3) {  // more than a row of lanes is padded to
      const FramedPlan framed(plan, 0.1 * i);
      values.push_back(framed.values);
      expected.push_back(framed.expected);
    }
    while (values.size() < 100) {
      values.push_back(values[values.size() - 20]);
      expected.push_back(expected[expected.size() - 20]);
    }
    CHECK(FramedPlan(plan).frame.step_times(values) == expected);
  }
}

TEST_CASE("paired passes: while one communicates the other computes") {
  // a: compute 3, send 4, compute 1;  b: compute 2, send 2.
  // computation: a 0-3, b 3-5, a 7-8; communication: a 3-7, b 7-9.
  const std::vector<TurnPart> a = {{3, false}, {4, true}, {1, false}};
  const std::vector<TurnPart> b = {{2, false}, {2, true}};
  CHECK(take_turns(a, b) == std::vector<std::size_t>{0, 0, 1, 0, 1});
  const PairLengths lengths = pair_lengths(a, b);
  CHECK(lengths[0][0] == 3 + 4 + 1);
  CHECK(lengths[0][1] == 3 + 4 + 2);  // b's send behind a's
  CHECK(lengths[1][1] == 2 + 2);
  CHECK(lengths[1][0] == 2 + 1);  // a's last part behind b's computation
}

TEST_CASE("paired passes: what never waits for the other has no path from it") {
  const std::vector<TurnPart> a = {{1, false}};
  const std::vector<TurnPart> b = {{1, true}};
  CHECK(pair_lengths(a, b)[0][1] < 0);
  CHECK(pair_lengths(a, b)[1][0] < 0);
}

}  // namespace goodput
