// Tutel(FT) of Lazarus (arXiv 2407.04656): Tutel that survives losses while every shard does.
#include "models/policy/shard_groups.h"

namespace goodput {

PolicyInfo policy_tutel_ft() {
  return {.name = "tutel_ft",
          .summary = "Tutel that continues as long as every expert shard survives",
          .make = [] { return policy_setup(ShardGroupsOptions{}, prepare_shard_groups, shard_group_limits); },
          .uncertain = kTutelSpeedup};
}

}  // namespace goodput
