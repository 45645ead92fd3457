// What `goodput placement` is asked: options and files, read and checked against each other.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "models/placement_search/place_experts.h"
#include "sim/base/errors.h"

namespace goodput {

struct PlacementOptions {
  std::int64_t nodes = 0;
  std::int64_t slots = 0;
  std::optional<std::int64_t> experts{};
  std::int64_t gpus_per_node = 1;
  std::string loads{};     // a file, or a list of whole numbers; empty: all experts alike
  std::string replicas{};  // a list of whole numbers, instead of loads
  std::optional<std::int64_t> iteration{};
  std::string layers{};
  std::optional<std::int64_t> top{};
  std::optional<std::int64_t> top_iteration{};  // none: that of the placement
  std::optional<std::int64_t> new_iteration{};  // of the loads when nodes are lost; none: as before
  std::string new_loads{};                      // likewise
  std::optional<std::int64_t> min_replicas{};   // of every expert; none: 2, with expert groups 1
  std::string allocation{};                     // a name; empty: balanced
  std::string plan = "best";
  std::optional<std::int64_t> expert_groups{};  // none: one group, and --allocation decides
  std::string failures{};                       // numbers and ranges; empty: 1-6 of the nodes
};

struct RequestedLayer {
  std::int64_t layer = 0;                // its number in the trace
  std::vector<std::int32_t> experts{};   // numbers in the trace, ascending
  std::vector<std::int64_t> loads{};     // tokens, by position in `experts`
  std::vector<std::int32_t> replicas{};  // given ones
};

struct PlacementRequest {
  ExpertNodes nodes{};
  PlacementChoice choice{};
  std::vector<RequestedLayer> layers{};      // one, but from a routing trace
  std::vector<RequestedLayer> new_layers{};  // the same experts with the loads when nodes are lost
  bool from_trace = false;
  std::vector<std::int32_t> failures{};  // ascending
  std::vector<std::string> notes{};      // to tell the user
};

// Errors: what is missing, contradicts itself or cannot be read.
[[nodiscard]] Result<PlacementRequest> read_placement_request(const PlacementOptions& options);

// Whether --expert-groups is above 1 and each group of experts stays on one node.
[[nodiscard]] bool stays_in_groups(const PlacementRequest& request);

// Whether the value of --loads is a list of numbers, not the name of a file.
[[nodiscard]] bool is_number_list(const std::string& loads);

}  // namespace goodput
