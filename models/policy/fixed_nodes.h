// Jobs that train on a fixed number of nodes: others that are held are spares, and without enough of them the
// job waits (RestartParts::fixed_nodes).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "models/policy/restart_options.h"

namespace goodput {

// Nodes that are held and do not train.
enum class Spares : std::uint8_t {
  kCold,  // their processes have to be started, and all others with them
  kHot,   // their processes are up
};
inline constexpr std::string_view kSparesNames[] = {"cold", "hot"};

// Assumed: as a reconfiguration of Lazarus regroups (5 to 15 s).
inline constexpr SimDuration kDefaultSwap = std::chrono::seconds{15};
// "swap_s". `idle`: why nothing is ever swapped; "": it is.
[[nodiscard]] config::Field swap_field(SimDuration& swap, std::function<std::string()> idle = {});

// "nodes", 0: as many as the plan's GPUs take; and what such a job has of the options of a restart.
[[nodiscard]] config::Fields fixed_nodes_fields(std::int32_t& nodes, RestartOptions& options,
                                                const PolicyContext& context);

// On how many nodes that job trains: those, but for what a fixed batch leaves idle, which is a warning of the
// job then. Fails, with a pointer to the field, where whole replicas do not fill them.
[[nodiscard]] Result<std::int32_t> fixed_nodes(std::int32_t nodes, RestartJob& restarts);

}  // namespace goodput
