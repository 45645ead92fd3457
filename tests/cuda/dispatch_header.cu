// The shared dispatch header in device code: compiled only, to see that it still can be.
#include "models/moe_dispatch.h"

namespace {

using namespace goodput::moe;

// A thread an expert.
__global__ void prepare(const std::int64_t* tokens, const std::int32_t* replicas, int experts,
                        DispatchPolicy policy, DispatchStatus* status, TokenQuota* quotas, SurplusMap* maps) {
  const int expert = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (expert >= experts) return;
  status[expert] = expert_status(tokens[expert], replicas[expert]);
  if (status[expert] != DispatchStatus::kOk) return;
  quotas[expert] = token_quota(expert, static_cast<Tokens>(tokens[expert]), replicas[expert]);
  const TokenSplit split = split_tokens(static_cast<Tokens>(tokens[expert]), capacity(quotas[expert], 0, 1));
  maps[expert] = surplus_map(policy, split.surplus);
}

// A thread a pair.
__global__ void count_pairs(SurplusMap map, Interval surplus, const Interval* residuals, int hosts,
                            Tokens* counts) {
  const int host = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (host < hosts) counts[host] = pair_count(map, surplus, residuals[host]);
}

// A thread a token.
__global__ void place_tokens(SurplusMap map, Interval surplus, const Interval* residuals, int hosts,
                             TokenPlace* places) {
  const Tokens token = static_cast<Tokens>(blockIdx.x * blockDim.x + threadIdx.x);
  if (token < surplus.count)
    places[token] = token_place(map, surplus, residuals, hosts, surplus.first + token);
}

// The same arithmetic when nvcc's host side evaluates it: 17 tokens over 5 replicas, the last and the first
// odd.
static_assert(capacity({3, 2, 4, 5}, 0, 5) == 17 && capacity({3, 2, 4, 5}, 3, 2) == 7, "capacity");
static_assert(best_multiplier(69'810) == 43'151, "multiplier");
static_assert(pair_count({7, 4}, {1, 3}, {1, 4}) == 2, "tokens 1 2 3 go to places 4 1 5");

}  // namespace

void launch_all(const std::int64_t* tokens, const std::int32_t* replicas, DispatchStatus* status,
                TokenQuota* quotas, SurplusMap* maps, const Interval* residuals, Tokens* counts,
                TokenPlace* places) {
  prepare<<<1, 256>>>(tokens, replicas, 256, DispatchPolicy::kProportional, status, quotas, maps);
  count_pairs<<<4, 256>>>({7, 4}, {1, 3}, residuals, 1024, counts);
  place_tokens<<<1, 32>>>({7, 4}, {1, 3}, residuals, 1024, places);
}
