// Hot spares: a fixed number of nodes trains, and spares whose processes are already up take the places of
// those that are lost. State still comes from the last checkpoint.
#include "models/policy/fixed_nodes.h"
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

struct HotSpareOptions {
  std::int32_t nodes = 0;
  RestartOptions restart{};
  SimDuration swap = kDefaultSwap;
};

config::Fields config_fields(HotSpareOptions& options, const PolicyContext& context) {
  return joined(fixed_nodes_fields(options.nodes, options.restart, context), {swap_field(options.swap)});
}

Result<std::unique_ptr<PreparedPolicy>> prepare_hot_spare(const HotSpareOptions& options,
                                                          const JobModel& job) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart));
  GOODPUT_TRY(const std::int32_t nodes, fixed_nodes(options.nodes, restarts));
  return restarting_policy(std::move(restarts), {}, [nodes, swap = options.swap](const RestartJob&) {
    return RestartParts{.fixed_nodes = nodes, .in_place = InPlaceRestart{swap, Spares::kHot}};
  });
}

}  // namespace

PolicyInfo policy_hot_spare() {
  return {"hot_spare",
          "trains on a fixed number of nodes; running spares replace lost nodes and load the checkpoint",
          [] { return policy_setup(HotSpareOptions{}, prepare_hot_spare, limits_of_replicas); }};
}

}  // namespace goodput
