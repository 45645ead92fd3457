#include "models/policy/fixed_size_policy.h"

#include <fmt/format.h>

namespace goodput {

config::Fields FixedSizeSetup::fields() {
  config::Fields fields = RestartSetup::fields();
  fields.insert(fields.begin(), {"nodes", config::Need::kOptional, config::integer(nodes_, 0),
                                 "that train; 0: those of the plan's GPUs. All others are spares"});
  return fields;
}

Status FixedSizeSetup::prepare(const JobModel& job) {
  GOODPUT_TRY_STATUS(RestartSetup::prepare(job));
  const std::int64_t per_node = job.plan().cluster.gpus_per_node;
  nodes_used_ =
      nodes_ > 0 ? nodes_ : static_cast<std::int32_t>((job.plan().parallel.gpus() + per_node - 1) / per_node);
  if (speed().usable(nodes_used_) == nodes_used_) return Ok{};
  return Error{fmt::format("is {}, want what whole replicas of the plan fill: {} or less, of {}", nodes_used_,
                           speed().usable(nodes_used_), job.most_nodes()),
               {.pointer = "/nodes"}};
}

}  // namespace goodput
