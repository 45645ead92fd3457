#include "tools/plan_step/step_slices.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "models/cost/cost_models.h"
#include "models/step/planned_step.h"
#include "models/step/step_report.h"
#include "sim/base/json.h"
#include "tests/support/analysed_trace.h"
#include "tests/support/step_case.h"

namespace goodput {
namespace {

// 4 stages x 5 model chunks, 8 micro-batches a replica.
PlannedStep step_of_llama() {
  TrainingPlan plan = testing::shipped_plan("llama3-70b-h100");
  plan.parallel.global_batch = 8 * plan.parallel.dp * plan.parallel.micro_batch;
  const std::unique_ptr<CostModel> cost = testing::value_or_throw(make_cost_model(cost_inputs(plan)));
  return testing::value_or_throw(build_planned_step(plan, *cost, Granularity::kLayers, 0));
}

std::size_t slices_of_type(const OrderedJson& slices, const std::string& type) {
  const auto& types = slices["types"];
  const auto at = std::distance(types.begin(), std::find(types.begin(), types.end(), type));
  const auto& all = slices["type"];
  return static_cast<std::size_t>(std::count(all.begin(), all.end(), OrderedJson(at)));
}

}  // namespace

TEST_CASE("step slices: layers of a pass are one slice, so passes are stages x chunks x micro-batches") {
  const PlannedStep step = step_of_llama();
  const OrderedJson slices = step_slices_json(step);
  CHECK(slices_of_type(slices, "forward-compute") == 4 * 5 * 8);
  CHECK(slices_of_type(slices, "backward-compute") == 4 * 5 * 8);
  CHECK(slices["all"] == slices["type"].size());
  for (const char* key : {"stage", "chunk", "micro_batch", "start_us", "duration_us"}) {
    CHECK(slices[key].size() == slices["type"].size());
  }
}

TEST_CASE("step slices: they begin in order, and the last ends with the step") {
  const PlannedStep step = step_of_llama();
  const OrderedJson slices = step_slices_json(step);
  const auto starts = slices["start_us"].get<std::vector<std::int64_t>>();
  const auto durations = slices["duration_us"].get<std::vector<std::int64_t>>();
  CHECK(std::is_sorted(starts.begin(), starts.end()));
  std::int64_t end = 0;
  for (std::size_t i = 0; i < starts.size(); ++i) end = std::max(end, starts[i] + durations[i]);
  const double step_us = 1e6 * to_seconds(step_time(step));
  constexpr double kRounding =
      1.5;  // of a start and of a duration, half a microsecond each, and one at least
  CHECK(std::abs(static_cast<double>(end) - step_us) <= kRounding);
}

TEST_CASE("step slices: of longer steps the first that begin are kept, and how many there were is said") {
  const PlannedStep step = step_of_llama();
  const OrderedJson all = step_slices_json(step);
  const OrderedJson first = step_slices_json(step, 10);
  CHECK(first["all"] == all["all"]);
  CHECK(first["start_us"].size() == 10);
  CHECK(first["start_us"][9] == all["start_us"][9]);
}

}  // namespace goodput
