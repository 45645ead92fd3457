// Tutel as Lazarus (arXiv 2407.04656, section 6) runs it: like `ds`, with faster MoE kernels.
#include "models/policy/expert_parallel.h"

namespace goodput {

PolicyInfo policy_tutel() {
  return {"tutel", "Tutel: like DeepSpeed-MoE (ds), with faster MoE kernels", [] {
            return policy_setup(with_tutel_kernels({}), prepare_expert_parallel, expert_parallel_limits);
          }};
}

}  // namespace goodput
