#include "models/dispatch/dispatch_tables.h"

#include <fmt/format.h>

namespace goodput::moe {
namespace {

Status check_shape(const ExpertHosts& hosts, const RoutedTokens& routed) {
  if (routed.ranks != hosts.ranks() || routed.experts != hosts.experts()) {
    return Error{fmt::format("routed tokens: are for {} ranks x {} experts, but the placement is for {} x {}",
                             routed.ranks, routed.experts, hosts.ranks(), hosts.experts())};
  }
  const std::size_t cells = static_cast<std::size_t>(routed.ranks) * static_cast<std::size_t>(routed.experts);
  if (routed.counts.size() == cells) return Ok{};
  return Error{fmt::format("routed tokens: must have {1} ranks x {2} experts, not {0} counts",
                           routed.counts.size(), routed.ranks, routed.experts)};
}

Status check_no_negative(const RoutedTokens& routed) {
  Tokens sign = 0;
  for (const Tokens count : routed.counts) sign |= count;
  if (sign >= 0) return Ok{};
  std::size_t cell = 0;
  while (routed.counts[cell] >= 0) ++cell;
  const auto width = static_cast<std::size_t>(routed.experts);
  return Error{fmt::format("routed tokens, rank {}, expert {}: must be 0 or more, not {}", cell / width,
                           cell % width, routed.counts[cell])};
}

Status check_expert(std::int32_t expert, std::int64_t tokens, std::int32_t replicas) {
  switch (expert_status(tokens, replicas)) {
    case DispatchStatus::kOk:
      return Ok{};
    case DispatchStatus::kExpertLost:
      return Error{fmt::format(
          "expert {}: expert_lost: {} tokens are routed to it, but no rank hosts it; restore it from a "
          "checkpoint or mask it in the router",
          expert, tokens)};
    case DispatchStatus::kTooManyTokens:
      break;
  }
  return Error{
      fmt::format("expert {}: has {} tokens for {} replicas, but at most {} tokens and {} replicas are "
                  "supported; use smaller micro-batches",
                  expert, tokens, replicas, kMostTokens, kMostReplicas)};
}

}  // namespace

std::vector<std::int64_t> expert_totals(const RoutedTokens& routed, std::int32_t begin, std::int32_t end) {
  std::vector<std::int64_t> totals(static_cast<std::size_t>(routed.experts), 0);
  for (std::int32_t rank = begin; rank < end; ++rank) {
    const Tokens* row = routed.of_rank(rank).data();
    for (std::size_t expert = 0; expert < totals.size(); ++expert) totals[expert] += row[expert];
  }
  return totals;
}

Result<std::vector<TokenQuota>> token_quotas(const ExpertHosts& hosts, const RoutedTokens& routed) {
  GOODPUT_TRY_STATUS(check_shape(hosts, routed));
  GOODPUT_TRY_STATUS(check_no_negative(routed));
  const std::vector<std::int64_t> totals = expert_totals(routed, 0, routed.ranks);
  std::vector<TokenQuota> quotas;
  quotas.reserve(totals.size());
  for (std::int32_t expert = 0; expert < routed.experts; ++expert) {
    const std::int64_t tokens = totals[static_cast<std::size_t>(expert)];
    GOODPUT_TRY_STATUS(check_expert(expert, tokens, hosts.replicas_of(expert)));
    quotas.push_back(token_quota(expert, static_cast<Tokens>(tokens), hosts.replicas_of(expert)));
  }
  return quotas;
}

Status DispatchTables::update(const ExpertHosts& hosts, const RoutedTokens& routed) {
  GOODPUT_TRY(const auto quotas, token_quotas(hosts, routed));
  capacity_.assign(routed.counts.size(), 0);
  local_.assign(routed.counts.size(), 0);
  surplus_.assign(routed.counts.begin(), routed.counts.end());
  processed_.assign(static_cast<std::size_t>(routed.ranks), 0);
  // All else is done: a rank without replicas of an expert has no capacity for it, and all its tokens are
  // surplus.
  const auto width = static_cast<std::size_t>(routed.experts);
  for (const HostedExpert& entry : hosts.entries()) {
    const auto rank = static_cast<std::size_t>(entry.rank);
    const std::size_t cell = rank * width + static_cast<std::size_t>(entry.expert);
    const Tokens takes =
        moe::capacity(quotas[static_cast<std::size_t>(entry.expert)], entry.before, entry.replicas);
    const TokenSplit split = split_tokens(routed.counts[cell], takes);
    capacity_[cell] = takes;
    local_[cell] = split.local;
    surplus_[cell] = split.surplus;
    processed_[rank] += takes;
  }
  return Ok{};
}

}  // namespace goodput::moe
