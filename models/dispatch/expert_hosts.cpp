#include "models/dispatch/expert_hosts.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "models/dispatch/dispatch.h"

namespace goodput::moe {
namespace {

Status check_size(std::int32_t ranks, std::int32_t experts, std::int64_t columns, std::size_t given) {
  if (ranks < 1 || experts < 1 || columns < 0) {
    return Error{fmt::format(
        "placement: must have at least 1 rank and 1 expert, not {} ranks, {} experts and {} columns", ranks,
        experts, columns)};
  }
  if (given == static_cast<std::size_t>(ranks) * static_cast<std::size_t>(columns)) return Ok{};
  return Error{
      fmt::format("placement: must have {1} ranks x {2} values, not {0} values", given, ranks, columns)};
}

}  // namespace

ExpertHosts::ExpertHosts(std::int32_t ranks, std::int32_t experts)
    : ranks_(ranks), experts_(experts), rank_begin_{0}, replicas_(static_cast<std::size_t>(experts), 0) {}

Result<ExpertHosts> ExpertHosts::from_slots(std::int32_t ranks, std::int32_t experts, std::int32_t slots,
                                            std::span<const std::int32_t> expert_at) {
  GOODPUT_TRY_STATUS(check_size(ranks, experts, slots, expert_at.size()));
  if (expert_at.size() > static_cast<std::size_t>(kMostReplicas)) {
    return Error{
        fmt::format("placement: must have at most {1} slots, not {0}", expert_at.size(), kMostReplicas)};
  }
  ExpertHosts hosts(ranks, experts);
  std::vector<std::int32_t> sorted(static_cast<std::size_t>(slots));
  for (std::int32_t rank = 0; rank < ranks; ++rank) {
    const auto row = expert_at.subspan(static_cast<std::size_t>(rank) * sorted.size(), sorted.size());
    std::copy(row.begin(), row.end(), sorted.begin());
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t slot = 0, next = 0; slot < sorted.size(); slot = next) {
      const std::int32_t expert = sorted[slot];
      while (next < sorted.size() && sorted[next] == expert) ++next;
      if (expert == kEmptySlot) continue;
      if (expert < 0 || expert >= experts) {
        return Error{fmt::format(
            "placement, rank {0}: the expert in a slot must be 0 to {2}, or {3} for an empty slot, not {1}",
            rank, expert, experts - 1, kEmptySlot)};
      }
      hosts.add(rank, expert, static_cast<std::int32_t>(next - slot));
    }
    hosts.end_rank();
  }
  hosts.index_by_expert();
  return hosts;
}

void ExpertHosts::add(std::int32_t rank, std::int32_t expert, std::int32_t replicas) {
  std::int32_t& before = replicas_[static_cast<std::size_t>(expert)];
  entries_.push_back({rank, expert, replicas, before});
  before += replicas;
}

void ExpertHosts::index_by_expert() {
  expert_begin_.assign(static_cast<std::size_t>(experts_) + 1, 0);
  for (const HostedExpert& entry : entries_) ++expert_begin_[static_cast<std::size_t>(entry.expert) + 1];
  std::partial_sum(expert_begin_.begin(), expert_begin_.end(), expert_begin_.begin());
  entries_by_expert_.resize(entries_.size());
  std::vector<std::size_t> next = expert_begin_;
  for (std::size_t i = 0; i < entries_.size(); ++i)
    entries_by_expert_[next[static_cast<std::size_t>(entries_[i].expert)]++] = static_cast<std::uint32_t>(i);
}

}  // namespace goodput::moe
