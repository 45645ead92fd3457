// Clusters with a placement of experts and routed tokens, for tests and benchmarks of the dispatch.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/dispatch/dispatch_cluster.h"
#include "models/dispatch/dispatch_tables.h"
#include "models/dispatch/expert_hosts.h"
#include "sim/base/random.h"

namespace goodput::testing {

inline constexpr moe::DispatchPolicy kDispatchPolicies[] = {moe::DispatchPolicy::kProportional,
                                                            moe::DispatchPolicy::kPacked};

// A placement with the tokens routed to it.
struct RoutedCluster {
  moe::ExpertHosts hosts;
  std::vector<moe::Tokens> counts;  // ranks x experts

  [[nodiscard]] moe::RoutedTokens routed() const { return {hosts.ranks(), hosts.experts(), counts}; }
};

// Every rank routes `tokens`; the expert of popularity p is chosen with probability proportional to 1/p^skew,
// by all ranks alike (the popular experts' ids are scattered). Every expert gets a replica, the other of the
// ranks x `slots` go one by one to the expert with most tokens a replica; replica number i, counted over the
// experts, sits on rank i mod ranks.
struct ZipfCluster {
  std::int32_t ranks = 1024;
  std::int32_t experts = 256;
  std::int32_t slots = 4;
  std::int64_t tokens = 8192;
  double skew = 1;
  std::uint64_t seed = 1;
};
[[nodiscard]] RoutedCluster zipf_cluster(const ZipfCluster& spec);

// Small and nasty: few ranks, experts hosted by nobody (then nothing is routed to them), by one, by all,
// several replicas on a rank, ranks that failed, all tokens on one expert or rank, few or no tokens.
struct NastyCluster {
  std::int32_t most_ranks = 8;
  std::int32_t most_experts = 4;
  std::int32_t most_tokens = 40;  // of a rank for an expert
};
[[nodiscard]] RoutedCluster nasty_cluster(const NastyCluster& spec, RandomStream& random);

// Replicas, ranks x experts: every expert on one rank at least, on others with probability `hosted`.
[[nodiscard]] std::vector<std::int32_t> random_replicas(RandomStream& random, std::int32_t ranks,
                                                        std::int32_t experts, double hosted);

// The hosts of `replicas`, ranks x experts.
[[nodiscard]] Result<moe::ExpertHosts> hosts_of_replicas(std::int32_t ranks, std::int32_t experts,
                                                         std::span<const std::int32_t> replicas);

// Takes all replicas from about a `share` of the ranks.
void fail_ranks(std::span<std::int32_t> replicas, std::size_t experts, double share, RandomStream& random);

// The experts of ranks x tokens x top_k slots: different ones within a token (as far as there are as many),
// low numbers more often; a share `dropped` of the slots is -1.
[[nodiscard]] std::vector<std::int32_t> random_slots(RandomStream& random, std::int32_t ranks,
                                                     std::int32_t experts, std::int32_t tokens,
                                                     std::int32_t top_k, double dropped);

}  // namespace goodput::testing
