// What a placement is worth, for people and for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/placement/gpu_slots.h"
#include "models/placement/repeated_slots.h"
#include "models/placement/survival.h"
#include "models/placement_search/place_experts.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/placement/placement_request.h"

namespace goodput {

struct PlacementReport {
  PlacementRequest request{};
  PlacedLayers placed{};
  std::vector<Survival> survival{};  // of all layers together, by request.failures
  std::vector<double> bound{};       // of any placement of these replicas, by number of failures
  bool proven = false;               // no placement of these replicas survives more
  std::vector<std::optional<LoadImbalance>> balance{};  // by layer; none without loads
  std::optional<RepeatedSlots> repeated{};              // none: no GPU holds an expert more than once
};

[[nodiscard]] Result<PlacementReport> place_as_requested(PlacementRequest request, std::uint64_t seed);

[[nodiscard]] std::string placement_text(const PlacementReport& report);

// Adds the members that docs/formats/placement.md lists.
void add_placement_json(const PlacementReport& report, OrderedJson& json);

// The busiest layer's; none without loads.
[[nodiscard]] std::optional<LoadImbalance> worst_imbalance(const PlacementReport& report);

}  // namespace goodput
