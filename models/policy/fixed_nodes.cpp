#include "models/policy/fixed_nodes.h"

#include <fmt/format.h>

namespace goodput {

config::Fields fixed_nodes_fields(std::int32_t& nodes, RestartOptions& options,
                                  const PolicyContext& context) {
  return joined({{"nodes", config::Need::kOptional, config::integer(nodes, 0),
                  "that train; 0: those of the plan's GPUs. All others are spares"}},
                config_fields(options, context, {.grows = false, .saves_to_grow = false}));
}

Result<std::int32_t> fixed_nodes(std::int32_t nodes, const RestartJob& restarts) {
  const JobModel& job = *restarts.job;
  const std::int64_t per_node = job.plan().cluster.gpus_per_node;
  if (nodes == 0) nodes = static_cast<std::int32_t>((job.plan().parallel.gpus() + per_node - 1) / per_node);
  const std::int32_t usable = restarts.speed->usable(nodes);
  if (usable == nodes) return nodes;
  return Error{fmt::format("is {}, want what whole replicas of the plan fill: {} or less, of {}", nodes,
                           usable, job.most_nodes()),
               {.pointer = "/nodes"}};
}

}  // namespace goodput
