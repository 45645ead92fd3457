// DeepSpeed-MoE as Lazarus (arXiv 2407.04656, section 6) runs it: expert parallelism, a checkpoint every 50
// steps, and any loss a restart on floor(n / EP) * EP nodes.
#include "models/policy/expert_parallel.h"

namespace goodput {

PolicyInfo policy_ds() {
  return {"ds", "DeepSpeed-MoE: expert parallelism, restarts from checkpoints", [] {
            return policy_setup(ExpertParallelOptions{}, prepare_expert_parallel, expert_parallel_limits);
          }};
}

}  // namespace goodput
