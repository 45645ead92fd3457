// Plain checkpoint-restart: any loss stops the job, which comes back from its last checkpoint on whatever
// whole replicas of the plan the nodes that are left can hold.
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

Result<std::unique_ptr<PreparedPolicy>> prepare_checkpoint(const RestartOptions& options,
                                                           const JobModel& job) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options));
  return restarting_policy(std::move(restarts), {}, [](const RestartJob&) { return RestartParts{}; });
}

}  // namespace

PolicyInfo policy_checkpoint() {
  return {"checkpoint", "restarts from the last checkpoint with as many whole replicas as the nodes hold",
          [] { return policy_setup(RestartOptions{}, prepare_checkpoint, limits_of_replicas); }};
}

}  // namespace goodput
