// Which rank hosts how many replicas of which expert, listed by rank and by expert.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/base/errors.h"

namespace goodput::moe {

// A rank's replicas of an expert.
struct HostedExpert {
  std::int32_t rank;
  std::int32_t expert;
  std::int32_t replicas;  // > 0
  std::int32_t before;    // replicas of the expert on lower ranks
};

inline constexpr std::int32_t kEmptySlot = -1;

// Ranks that host nothing, and experts that nobody hosts, are allowed.
class ExpertHosts {
 public:
  // `expert_at` is ranks x slots: the expert in every slot of the rank, or kEmptySlot. In any order.
  static Result<ExpertHosts> from_slots(std::int32_t ranks, std::int32_t experts, std::int32_t slots,
                                        std::span<const std::int32_t> expert_at);

  [[nodiscard]] std::int32_t ranks() const { return ranks_; }
  [[nodiscard]] std::int32_t experts() const { return experts_; }

  // By rank, then expert. An *entry* below is an index into it.
  [[nodiscard]] std::span<const HostedExpert> entries() const { return entries_; }
  [[nodiscard]] std::size_t first_entry(std::int32_t rank) const {
    return rank_begin_[static_cast<std::size_t>(rank)];
  }
  [[nodiscard]] std::span<const HostedExpert> of_rank(std::int32_t rank) const {
    const std::size_t first = first_entry(rank);
    return entries().subspan(first, first_entry(rank + 1) - first);
  }

  // The entries of an expert, by rank.
  [[nodiscard]] std::span<const std::uint32_t> entries_of(std::int32_t expert) const {
    const std::size_t first = first_host(expert);
    return std::span(entries_by_expert_).subspan(first, first_host(expert + 1) - first);
  }
  // Where entries_of(expert) begins in the list of all experts' entries.
  [[nodiscard]] std::size_t first_host(std::int32_t expert) const {
    return expert_begin_[static_cast<std::size_t>(expert)];
  }
  [[nodiscard]] std::int32_t replicas_of(std::int32_t expert) const {
    return replicas_[static_cast<std::size_t>(expert)];
  }

 private:
  ExpertHosts(std::int32_t ranks, std::int32_t experts);
  void add(std::int32_t rank, std::int32_t expert, std::int32_t replicas);
  void end_rank() { rank_begin_.push_back(entries_.size()); }
  void index_by_expert();

  std::int32_t ranks_;
  std::int32_t experts_;
  std::vector<HostedExpert> entries_;
  std::vector<std::size_t> rank_begin_;  // ranks + 1
  std::vector<std::uint32_t> entries_by_expert_;
  std::vector<std::size_t> expert_begin_;  // experts + 1
  std::vector<std::int32_t> replicas_;     // of every expert
};

}  // namespace goodput::moe
