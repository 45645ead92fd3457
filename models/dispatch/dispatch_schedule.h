// The dispatch schedule of one layer: what all ranks agree on, and what one rank sends and receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/dispatch/dispatch.h"
#include "models/dispatch/dispatch_tables.h"
#include "models/dispatch/expert_hosts.h"
#include "sim/base/errors.h"

namespace goodput::moe {

// Every rank computes the same from the same counts; nobody needs to be told.
class DispatchSchedule {
 public:
  // Keeps references: `hosts` and what `routed` shows must outlive the schedule. Errors: token_quotas.
  static Result<DispatchSchedule> make(const ExpertHosts& hosts, const RoutedTokens& routed,
                                       DispatchPolicy policy);

  [[nodiscard]] const ExpertHosts& hosts() const { return *hosts_; }
  [[nodiscard]] const RoutedTokens& routed() const { return routed_; }

  // Tokens that stay with the rank of an entry of hosts().
  [[nodiscard]] Tokens local(std::size_t entry) const { return local_[entry]; }
  // Residual places of the expert's hosts, as hosts().entries_of(expert) lists them.
  [[nodiscard]] std::span<const Interval> residuals_of(std::int32_t expert) const {
    return std::span(residuals_).subspan(hosts_->first_host(expert), hosts_->entries_of(expert).size());
  }
  [[nodiscard]] const SurplusMap& map_of(std::int32_t expert) const {
    return maps_[static_cast<std::size_t>(expert)];
  }

 private:
  DispatchSchedule(const ExpertHosts& hosts, const RoutedTokens& routed) : hosts_(&hosts), routed_(routed) {}
  Tokens split_over_hosts(std::int32_t expert, const TokenQuota& quota);

  const ExpertHosts* hosts_;
  RoutedTokens routed_;
  std::vector<Tokens> local_;        // by entry
  std::vector<Interval> residuals_;  // by expert, then rank
  std::vector<SurplusMap> maps_;     // by expert
};

// The part of one rank. Its send buffer holds its tokens by (rank, expert) of the destination, that is, by
// entry of ExpertHosts; its receive buffer by source, then expert. Within a segment tokens keep their order.
class RankDispatch {
 public:
  // Keeps a reference: `schedule` must outlive this.
  RankDispatch(const DispatchSchedule& schedule, std::int32_t rank);

  // Of the rank's tokens for an expert the first local(expert) stay; the others have these numbers in its
  // map_of().
  [[nodiscard]] Tokens local(std::int32_t expert) const { return local_[static_cast<std::size_t>(expert)]; }
  [[nodiscard]] Interval surplus(std::int32_t expert) const {
    return surpluses_[static_cast<std::size_t>(expert)];
  }

  // By entry of hosts(): tokens for that rank and expert, those that stay included.
  [[nodiscard]] std::span<const Tokens> send_counts() const { return send_; }
  // ranks x (the rank's own entries): tokens from that rank for that expert, those that stay included.
  [[nodiscard]] std::span<const Tokens> receive_counts() const { return receive_; }

  // Where the tokens of every entry begin in the send buffer, and its length: one more than there are
  // entries.
  [[nodiscard]] std::vector<std::int64_t> send_offsets() const;

  // Where every slot (token * top_k + choice) of the rank goes in the send buffer; -1 for slots that are
  // dropped. `expert_of` holds their experts, negative: dropped. REQUIRES: its counts are those of
  // routed().of_rank(rank).
  [[nodiscard]] std::vector<std::int64_t> positions(std::span<const std::int32_t> expert_of) const;

 private:
  void find_surpluses();
  void count_sent();
  void count_received();
  [[nodiscard]] std::size_t entry_of_token(std::int32_t expert, Tokens number) const;

  const DispatchSchedule* schedule_;
  std::int32_t rank_;
  std::vector<Tokens> local_;             // by expert
  std::vector<Interval> surpluses_;       // by expert: numbers of this rank's surplus tokens
  std::vector<std::uint32_t> own_entry_;  // by expert; where local_ is 0 it means nothing
  std::vector<Tokens> send_;
  std::vector<Tokens> receive_;
};

}  // namespace goodput::moe
