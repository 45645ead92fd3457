// Plain checkpoint-restart: any loss stops the job, which comes back from its last checkpoint on whatever
// whole replicas of the plan the nodes that are left can hold.
#include "models/policy/restart_setup.h"

namespace goodput {

PolicyInfo checkpoint_policy() {
  return {"checkpoint", "restarts from the last checkpoint on as many whole replicas as fit",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<RestartSetup>()); }};
}

}  // namespace goodput
