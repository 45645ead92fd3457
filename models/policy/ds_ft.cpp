// DS(FT) of Lazarus (arXiv 2407.04656): DeepSpeed-MoE that survives losses while every shard does.
#include "models/policy/shard_groups.h"

namespace goodput {

PolicyInfo policy_ds_ft() {
  return {"ds_ft", "DeepSpeed-MoE that continues as long as every expert shard survives",
          [] { return policy_setup(ShardGroupsOptions{}, prepare_shard_groups, shard_group_limits); }};
}

}  // namespace goodput
