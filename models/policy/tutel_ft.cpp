// Tutel(FT) of Lazarus (arXiv 2407.04656): Tutel that survives losses while every shard does.
#include "models/policy/shard_groups.h"

namespace goodput {

PolicyInfo policy_tutel_ft() {
  return {"tutel_ft", "Tutel that continues as long as every expert shard survives", [] {
            ShardGroupsOptions options;
            options.groups = with_tutel_kernels(options.groups);
            return policy_setup(options, prepare_shard_groups, shard_group_limits);
          }};
}

}  // namespace goodput
