// Jobs that train on a fixed number of nodes: others that are held are spares, and without enough of them the
// job waits (RestartParts::fixed_nodes).
#pragma once

#include <cstdint>

#include "models/policy/restart_options.h"

namespace goodput {

// "nodes", 0: as many as the plan's GPUs take; and what such a job has of the options of a restart.
[[nodiscard]] config::Fields fixed_nodes_fields(std::int32_t& nodes, RestartOptions& options,
                                                const PolicyContext& context);

// On how many nodes that job trains: those, but for what a fixed batch leaves idle, which is a warning of the
// job then. Fails, with a pointer to the field, where whole replicas do not fill them.
[[nodiscard]] Result<std::int32_t> fixed_nodes(std::int32_t nodes, RestartJob& restarts);

}  // namespace goodput
