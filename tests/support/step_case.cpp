#include "tests/support/step_case.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/placement/gpu_slots.h"

namespace goodput::testing {

TrainingPlan shipped_plan(const std::string& name) {
  auto plan = read_training_plan(fmt::format("{}/plans/{}.json", GOODPUT_CONFIGS, name));
  REQUIRE_MESSAGE(plan, (plan ? "" : plan.error().message()));
  return *std::move(plan);
}

std::vector<ExpertPlacement> placed(const LayerLoads& loads, const ExpertNodes& nodes) {
  PlacementChoice choice;
  choice.allocation = Allocation::kEq1;
  choice.rule = PlacementRule::kMro;
  const auto layers = place_experts(loads, nodes, choice);
  REQUIRE_MESSAGE(layers, (layers ? "" : layers.error().message()));
  std::vector<ExpertPlacement> placements;
  for (const PlacedLayer& layer : layers->layers)
    placements.push_back(in_order_of_gpus(layer.placement, layer.layer, nodes.gpus));
  return placements;
}

StepTime timed(const Result<StepTime>& time) {
  REQUIRE_MESSAGE(time, (time ? "" : time.error().message()));
  return *time;
}

}  // namespace goodput::testing
