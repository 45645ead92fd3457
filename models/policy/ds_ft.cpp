// DS(FT) of Lazarus (arXiv 2407.04656): DeepSpeed-MoE that survives losses while every shard does.
#include "models/policy/shard_policy.h"

namespace goodput {

PolicyInfo ds_ft_policy() {
  return {"ds_ft", "DeepSpeed-MoE that goes on while every shard of the experts survives",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<FaultTolerantSetup>()); }};
}

}  // namespace goodput
