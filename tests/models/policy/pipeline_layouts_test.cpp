#include "models/policy/pipeline_layouts.h"

#include <doctest/doctest.h>

#include <numeric>

#include "tests/support/policy_case.h"

namespace goodput::testing {
namespace {

using Lengths = std::vector<std::int32_t>;

PipelineLayout layout_of(const PipelineLayouts& layouts, std::int32_t nodes, double slowest = 1) {
  auto layout = layouts.lay_out(nodes, slowest);
  REQUIRE_MESSAGE(layout, (layout ? "" : layout.error().message()));
  return *std::move(layout);
}

}  // namespace

TEST_CASE("pipeline layouts: nodes beyond whole pipelines make some longer by one") {
  const JobPointer job = gpt_s(14);
  const PipelineLayouts layouts(*job, 3, {});
  CHECK(layout_of(layouts, 9).lengths == Lengths{3, 3, 3});
  CHECK(layout_of(layouts, 11).lengths == Lengths{4, 4, 3});
  CHECK(layout_of(layouts, 4).lengths == Lengths{4});
  // 14 nodes: 4 pipelines of 4, 4, 3, 3; the layers of one of 3 nodes are 4 a node, of one of 4 three.
  const PipelineLayout layout = layout_of(layouts, 14);
  CHECK(layout.lengths == Lengths{4, 4, 3, 3});
  REQUIRE(layout.layers_of_place.size() == 14);
  CHECK(layout.layers_of_place[1].first == 3);
  CHECK(layout.layers_of_place[1].end == 6);
  CHECK(layout.layers_of_place[8].first == 0);
  CHECK(layout.layers_of_place[8].end == 4);
  CHECK(layout.layers_of_place[13].end == 12);
}

TEST_CASE("pipeline layouts: every pipeline has every layer once, for any number of nodes") {
  const JobPointer job = gpt_s(20);
  for (std::int32_t shortest = 1; shortest <= 12; ++shortest) {
    const PipelineLayouts layouts(*job, shortest, {});
    for (std::int32_t nodes = 1; nodes <= 22; ++nodes) {
      const std::int32_t used = layouts.usable(nodes);
      CHECK(used <= std::min(nodes, 20));
      CHECK(layouts.usable(used) == used);
      CHECK((used == 0) == (nodes < shortest));
      if (used == 0) continue;
      const PipelineLayout layout = layout_of(layouts, used);
      CHECK(std::accumulate(layout.lengths.begin(), layout.lengths.end(), 0) == used);
      std::size_t place = 0;
      for (const std::int32_t length : layout.lengths) {
        CHECK(length >= shortest);
        std::int32_t layer = 0;
        for (std::int32_t node = 0; node < length; ++node, ++place) {
          CHECK(layout.layers_of_place[place].first == layer);
          CHECK(layout.layers_of_place[place].end > layer);
          layer = layout.layers_of_place[place].end;
        }
        CHECK(layer == 12);
      }
      CHECK(layout.time.samples == 80);
      CHECK(layout.time.step > SimDuration{});
    }
  }
}

TEST_CASE("pipeline layouts: no pipeline has more stages than the model has layers") {
  const JobPointer job = gpt_s(20);
  CHECK(PipelineLayouts(*job, 11, {}).usable(20) == 12);
  CHECK(PipelineLayouts(*job, 12, {}).usable(20) == 12);
  CHECK(PipelineLayouts(*job, 7, {}).usable(20) == 20);
}

TEST_CASE("pipeline layouts: nodes whose steps have more micro-batches than can be simulated are too few" *
          doctest::test_suite("slow")) {
  const JobPointer usual = gpt_s(20);
  PipelineLayouts any(*usual, 3, {});
  CHECK(any.settle().has_value());
  CHECK(any.usable(3) == 3);
  TrainingPlan plan = gpt_s_plan(100);
  plan.parallel.global_batch *= 2000;  // 200,000 micro-batches: one pipeline cannot, many can
  const JobPointer job = job_of(plan);
  PipelineLayouts layouts(*job, 2, {});
  const Result<PipelineLayout> one = layouts.lay_out(2, 1);
  REQUIRE_FALSE(one.has_value());
  CHECK(one.error().what.find("200000 micro-batches per replica") != std::string::npos);
  REQUIRE(layouts.settle().has_value());
  std::int32_t least = 1;
  while (layouts.usable(least) == 0) ++least;
  CHECK(layouts.lay_out(least, 1).has_value());
  CHECK_FALSE(layouts.lay_out(least - 1, 1).has_value());
  for (std::int32_t nodes = least; nodes <= 100; ++nodes) CHECK(layouts.usable(nodes) == nodes);
}

TEST_CASE("pipeline layouts: a slow node slows all, and a constant comes once a step") {
  const JobPointer job = gpt_s();
  const PipelineLayouts layouts(*job, 2, {});
  const SimDuration healthy = layouts.at(10).time.step;
  CHECK(layout_of(layouts, 10, 0.5).time.step > healthy);
  CHECK(layout_of(layouts, 10).time.step == healthy);  // as before
  StepSettings settings;
  settings.step_overhead = std::chrono::milliseconds{500};
  CHECK(PipelineLayouts(*job, 2, settings).at(10).time.step == healthy + std::chrono::milliseconds{500});
}

}  // namespace goodput::testing
