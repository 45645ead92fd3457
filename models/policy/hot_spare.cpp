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
  SimDuration swap = from_seconds(15);  // assumed: as a reconfiguration of Lazarus regroups (5 to 15 s)
};

config::Fields config_fields(HotSpareOptions& options, const PolicyContext& context) {
  using config::Need;
  return joined(fixed_nodes_fields(options.nodes, options.restart, context),
                {{"swap_s", Need::kOptional, config::number(options.swap, kPolicySeconds, from_seconds(1)),
                  "new process groups with the spare, in place of a start-up"}});
}

Result<std::unique_ptr<PreparedPolicy>> prepare_hot_spare(const HotSpareOptions& options,
                                                          const JobModel& job) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart));
  GOODPUT_TRY(const std::int32_t nodes, fixed_nodes(options.nodes, restarts));
  return restarting_policy(std::move(restarts), {}, [nodes, swap = options.swap](const RestartJob&) {
    return RestartParts{.fixed_nodes = nodes, .swap = swap};
  });
}

}  // namespace

PolicyInfo policy_hot_spare() {
  return {"hot_spare", "a fixed number of nodes; running spares replace lost ones, state from the checkpoint",
          [] { return policy_setup(HotSpareOptions{}, prepare_hot_spare); }};
}

}  // namespace goodput
