#include "models/policy/fixed_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "models/policy/job_warnings.h"

namespace goodput {

config::Field swap_field(SimDuration& swap, std::function<std::string()> idle) {
  return {"swap_s", config::Need::kOptional, config::number(swap, kPolicySeconds, from_seconds(1)),
          "time to form new process groups with a hot spare, instead of starting all processes",
          std::move(idle)};
}

config::Fields fixed_nodes_fields(std::int32_t& nodes, RestartOptions& options,
                                  const PolicyContext& context) {
  return joined(
      {{"nodes", config::Need::kOptional, config::integer(nodes, 0),
        "number of training nodes; all other nodes are spares; 0: as many nodes as the plan's GPUs fill"}},
      config_fields(options, context,
                    {.never_grows = [] { return "the policy trains on a fixed number of nodes"; },
                     .saves_to_grow = false}));
}

Result<std::int32_t> fixed_nodes(std::int32_t nodes, RestartJob& restarts) {
  const JobModel& job = *restarts.job;
  const std::int32_t asked = nodes > 0 ? nodes : std::min(job.plan_nodes(), job.most_nodes());
  const std::int32_t whole = restarts.speed->whole(asked);
  if (whole == 0) {
    const Result<StepTime> step = restarts.speed->compute(asked, 0, 1);
    return Error{fmt::format("is {}: {}", nodes, step ? "too few nodes" : step.error().what),
                 {.pointer = "/nodes"}};
  }
  if (nodes > 0 && whole != nodes) {
    return Error{
        fmt::format(
            "must be a number of nodes that holds whole replicas, such as {}, not {} (the job has {} nodes)",
            whole, nodes, job.most_nodes()),
        {.pointer = "/nodes"}};
  }
  const std::int32_t used = restarts.speed->usable(whole);
  restarts.step = restarts.speed->at(used, 0, 1).step;
  restarts.idle_nodes = idle_node_warnings(job, whole, used);
  if (restarts.speed->usable(job.most_nodes_ever()) > 0)  // else it is said already
    append(too_few_nodes_warnings(job, used), restarts.warnings);
  return used;
}

}  // namespace goodput
