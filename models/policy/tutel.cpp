// Tutel as Lazarus (arXiv 2407.04656, section 6) runs it: like `ds`, with faster MoE kernels.
#include "models/policy/expert_parallel.h"

namespace goodput {

PolicyInfo policy_tutel() {
  return {.name = "tutel",
          .summary = "Tutel: like DeepSpeed-MoE (ds); moe_speedup says how much faster its MoE kernels are",
          .make =
              [] {
                return policy_setup(ExpertParallelOptions{}, prepare_expert_parallel, expert_parallel_limits);
              },
          .uncertain = kTutelSpeedup};
}

}  // namespace goodput
