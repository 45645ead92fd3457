// Routed tokens of a whole cluster, and what every rank does with them: capacities, local tokens, surpluses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/dispatch/dispatch.h"
#include "models/dispatch/expert_hosts.h"
#include "sim/base/errors.h"

namespace goodput::moe {

// Tokens of every rank routed to every expert: ranks x experts, by rank. A view: what it shows must outlive
// it.
struct RoutedTokens {
  std::int32_t ranks;
  std::int32_t experts;
  std::span<const Tokens> counts;

  [[nodiscard]] std::span<const Tokens> of_rank(std::int32_t rank) const {
    const auto width = static_cast<std::size_t>(experts);
    return counts.subspan(static_cast<std::size_t>(rank) * width, width);
  }
  [[nodiscard]] Tokens at(std::int32_t rank, std::int32_t expert) const {
    return of_rank(rank)[static_cast<std::size_t>(expert)];
  }
};

// Tokens of every expert over ranks [begin, end).
[[nodiscard]] std::vector<std::int64_t> expert_totals(const RoutedTokens& routed, std::int32_t begin,
                                                      std::int32_t end);

// What the replicas of every expert take. An error for counts that do not fit the placement, negative ones,
// tokens of an expert without replicas (`expert_lost`), and experts with more than kMostTokens tokens.
[[nodiscard]] Result<std::vector<TokenQuota>> token_quotas(const ExpertHosts& hosts,
                                                           const RoutedTokens& routed);

// For the simulator: the split of every (rank, expert), as ranks x experts tables.
class DispatchTables {
 public:
  // Keeps its memory from call to call. After an error the tables hold what they held before.
  [[nodiscard]] Status update(const ExpertHosts& hosts, const RoutedTokens& routed);

  [[nodiscard]] std::span<const Tokens> capacity() const { return capacity_; }
  [[nodiscard]] std::span<const Tokens> local() const { return local_; }
  [[nodiscard]] std::span<const Tokens> surplus() const { return surplus_; }
  // Tokens that each rank computes: its capacity over all experts.
  [[nodiscard]] std::span<const std::int64_t> processed() const { return processed_; }

 private:
  std::vector<Tokens> capacity_;
  std::vector<Tokens> local_;
  std::vector<Tokens> surplus_;
  std::vector<std::int64_t> processed_;
};

}  // namespace goodput::moe
