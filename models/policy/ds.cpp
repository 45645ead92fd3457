// DeepSpeed-MoE as Lazarus (arXiv 2407.04656, section 6) runs it: expert parallelism, a checkpoint every 50
// steps, and any loss a restart on floor(n / EP) * EP nodes.
#include "models/policy/restart_setup.h"

namespace goodput {

PolicyInfo ds_policy() {
  return {"ds", "DeepSpeed-MoE: expert parallelism, restarts from checkpoints",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<ExpertParallelSetup>()); }};
}

}  // namespace goodput
