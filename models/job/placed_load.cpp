#include "models/job/placed_load.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <utility>

#include "models/dispatch/dispatch.h"
#include "models/dispatch/dispatch_tables.h"
#include "models/routing/job_routing.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

using moe::ExpertHosts;
using moe::HostedExpert;
using moe::Tokens;

Status check_tokens(const ExpertHosts& hosts, std::span<const std::int64_t> tokens) {
  if (tokens.size() != index(hosts.experts())) {
    return Error{fmt::format("loads: are for {} experts, but the placement is for {}", tokens.size(),
                             hosts.experts())};
  }
  for (std::int32_t e = 0; e < hosts.experts(); ++e) {
    switch (moe::expert_status(tokens[index(e)], hosts.replicas_of(e))) {
      case moe::DispatchStatus::kOk:
        break;
      case moe::DispatchStatus::kExpertLost:
        return Error{fmt::format("expert {}: expert_lost: {} tokens are routed to it, but no GPU hosts it", e,
                                 tokens[index(e)])};
      case moe::DispatchStatus::kTooManyTokens:
        return Error{
            fmt::format("expert {}: has {} tokens, but at most {} are supported; use smaller micro-batches",
                        e, tokens[index(e)], moe::kMostTokens)};
    }
  }
  return Ok{};
}

// Dispatches one layer.
class Dispatcher {
 public:
  // `peers`: GPUs of a node, whose exchange is not counted. `routed`: of every rank; no counts: all are even.
  Dispatcher(const ExpertHosts& hosts, std::int32_t peers, std::span<const std::int64_t> tokens,
             moe::RoutedTokens routed)
      : hosts_(hosts), peers_(peers), tokens_(tokens), routed_(routed), loads_(index(hosts.ranks())) {}

  std::vector<GpuLoad> dispatch() && {
    send_everything();
    surplus_.assign(tokens_.begin(), tokens_.end());
    splits_.reserve(hosts_.entries().size());
    for (const HostedExpert& entry : hosts_.entries()) keep_local(entry);
    if (peers_ > 1) {
      residual_.resize(tokens_.size());
      surplus_here_.resize(tokens_.size());
      last_node_.assign(tokens_.size(), -1);
      for (std::int32_t first = 0; first < hosts_.ranks(); first += peers_) keep_within_node(first);
    }
    return std::move(loads_);
  }

 private:
  // Every rank's own tokens.
  void send_everything() {
    if (!routed_.counts.empty()) {
      for (std::int32_t rank = 0; rank < hosts_.ranks(); ++rank) {
        const std::span<const Tokens> row = routed_.of_rank(rank);
        loads_[index(rank)].sent =
            static_cast<double>(std::accumulate(row.begin(), row.end(), std::int64_t{0}));
      }
      return;
    }
    std::vector<std::int64_t> one_more(loads_.size() + 1);  // experts with that many tokens left over
    std::int64_t each = 0;
    for (const std::int64_t tokens : tokens_) {
      each += tokens / hosts_.ranks();
      ++one_more[static_cast<std::size_t>(tokens % hosts_.ranks())];
    }
    std::int64_t more = 0;  // experts whose tokens left over reach this rank
    for (std::size_t rank = loads_.size(); rank-- > 0;) {
      more += one_more[rank + 1];
      loads_[rank].sent = static_cast<double>(each + more);
    }
  }

  [[nodiscard]] Tokens routed(std::int32_t rank, std::int32_t expert) const {
    if (!routed_.counts.empty()) return routed_.at(rank, expert);
    return static_cast<Tokens>(tokens_of_rank(tokens_[index(expert)], hosts_.ranks(), rank));
  }

  void keep_local(const HostedExpert& entry) {
    const auto tokens = static_cast<Tokens>(tokens_[index(entry.expert)]);
    const moe::TokenQuota quota = moe::token_quota(entry.expert, tokens, hosts_.replicas_of(entry.expert));
    const Tokens takes = moe::capacity(quota, entry.before, entry.replicas);
    const moe::TokenSplit split = moe::split_tokens(routed(entry.rank, entry.expert), takes);
    GpuLoad& load = loads_[index(entry.rank)];
    load.computed += takes;
    load.sent -= split.local;
    load.received += split.residual;
    surplus_[index(entry.expert)] -= split.local;
    splits_.push_back(split);
  }

  // Takes off what the GPUs of a node send each other.
  void keep_within_node(std::int32_t first) {
    const std::size_t begin = hosts_.first_entry(first);
    const std::size_t end = hosts_.first_entry(first + peers_);
    const auto entries = hosts_.entries();
    here_.clear();
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t e = index(entries[i].expert);
      if (last_node_[e] != first) here_.push_back(entries[i].expert);
      last_node_[e] = first;
      residual_[e] += splits_[i].residual;
      surplus_here_[e] -= splits_[i].local;
    }
    for (const std::int32_t expert : here_) {
      const std::size_t e = index(expert);
      if (surplus_[e] == 0) continue;
      const double taken_here = static_cast<double>(residual_[e]) / static_cast<double>(surplus_[e]);
      for (std::int32_t rank = first; rank < first + peers_; ++rank) {
        surplus_here_[e] += routed(rank, expert);
        loads_[index(rank)].sent -= taken_here * routed(rank, expert);
      }
    }
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t e = index(entries[i].expert);
      if (surplus_[e] == 0) continue;
      const auto all = static_cast<double>(surplus_[e]);
      GpuLoad& load = loads_[index(entries[i].rank)];
      load.sent += static_cast<double>(residual_[e]) / all * splits_[i].local;
      load.received -= static_cast<double>(surplus_here_[e]) / all * splits_[i].residual;
    }
    for (const std::int32_t expert : here_) residual_[index(expert)] = surplus_here_[index(expert)] = 0;
  }

  const ExpertHosts& hosts_;
  std::int32_t peers_;
  std::span<const std::int64_t> tokens_;
  moe::RoutedTokens routed_;
  std::vector<GpuLoad> loads_;
  std::vector<moe::TokenSplit> splits_;  // by entry of the hosts
  std::vector<std::int64_t> surplus_;    // by expert, of all ranks: as many as the residual places
  // Of the node at hand, by expert: residual places and surplus tokens of its GPUs; else zero.
  std::vector<std::int64_t> residual_;
  std::vector<std::int64_t> surplus_here_;
  std::vector<std::int32_t> here_;       // experts that its GPUs host
  std::vector<std::int32_t> last_node_;  // by expert: first rank of the last node seen to host it
};

double imbalance_of(std::span<const GpuLoad> loads, std::int32_t gpus_per_node, double mean) {
  const auto ranks = static_cast<std::int32_t>(loads.size());
  const std::int32_t near = ranks > gpus_per_node ? gpus_per_node : 1;
  if (ranks == near || mean == 0) return 1;
  double most = 0;
  for (const GpuLoad& load : loads) most = std::max({most, load.sent, load.received});
  return most / (mean * (ranks - near) / ranks);
}

// Gradients of every GPU's experts.
class ReplicaCounter {
 public:
  ReplicaCounter(std::span<const ExpertHosts> hosts, std::span<const std::size_t> hosts_of_layer,
                 std::int32_t gpus_per_node, std::int32_t copies)
      : hosts_(hosts), hosts_of_layer_(hosts_of_layer), gpus_per_node_(gpus_per_node), copies_(copies) {}

  [[nodiscard]] std::vector<ReplicaGroup> of_busiest() const {
    const std::vector<double> sent = sent_by_rank();
    const auto busiest = static_cast<std::int32_t>(std::max_element(sent.begin(), sent.end()) - sent.begin());
    std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> experts;  // by size and GPUs of a node
    for (const std::size_t layer : hosts_of_layer_) {
      const ExpertHosts& hosts = hosts_[layer];
      const std::int32_t first = busiest / gpus_per_node_ * gpus_per_node_;
      for (const HostedExpert& entry : hosts.of_rank(busiest)) {
        const std::int32_t nodes = nodes_with(hosts, entry.expert);
        const auto [local, before] = on_node(hosts, first, entry);
        if (nodes > 1 && before == 0) ++experts[{nodes, 1}];
        if (local > 1) ++experts[{local, local}];
      }
    }
    std::vector<ReplicaGroup> groups;
    for (const auto& [group, count] : experts) groups.push_back({{group.first, group.second}, count});
    return groups;
  }

 private:
  // In gradients of one expert, once around a ring of n nodes: each sends (n-1)/n of them.
  [[nodiscard]] std::vector<double> sent_by_rank() const {
    std::vector<std::vector<double>> by_entry;
    for (const ExpertHosts& hosts : hosts_) by_entry.push_back(sent_by_entry(hosts));
    std::vector<double> sent(index(hosts_.front().ranks()));
    for (std::size_t rank = 0; rank < sent.size(); ++rank) {
      const auto of = static_cast<std::int32_t>(rank);
      for (const std::size_t layer : hosts_of_layer_) {
        const std::size_t end = hosts_[layer].first_entry(of + 1);
        for (std::size_t i = hosts_[layer].first_entry(of); i < end; ++i) sent[rank] += by_entry[layer][i];
      }
    }
    return sent;
  }

  // The first GPU of a node sends for all of them.
  [[nodiscard]] std::vector<double> sent_by_entry(const ExpertHosts& hosts) const {
    std::vector<double> sent(hosts.entries().size());
    for (std::int32_t e = 0; e < hosts.experts(); ++e) {
      const double nodes = nodes_with(hosts, e);
      std::int32_t last = -1;
      for (const std::uint32_t i : hosts.entries_of(e)) {
        const std::int32_t node = hosts.entries()[i].rank / gpus_per_node_;
        if (node != last) sent[i] = (nodes - 1) / nodes;
        last = node;
      }
    }
    return sent;
  }

  [[nodiscard]] std::int32_t nodes_with(const ExpertHosts& hosts, std::int32_t expert) const {
    std::int32_t nodes = 0;
    std::int32_t last = -1;
    for (const std::uint32_t i : hosts.entries_of(expert)) {
      const std::int32_t node = hosts.entries()[i].rank / gpus_per_node_;
      nodes += node != last ? 1 : 0;
      last = node;
    }
    return nodes * copies_;
  }

  // GPUs of the node with the expert of `entry`, and how many of them come before its own.
  [[nodiscard]] std::pair<std::int32_t, std::int32_t> on_node(const ExpertHosts& hosts, std::int32_t first,
                                                              const HostedExpert& entry) const {
    std::int32_t all = 0;
    std::int32_t before = 0;
    for (const std::uint32_t i : hosts.entries_of(entry.expert)) {
      const std::int32_t rank = hosts.entries()[i].rank;
      if (rank < first || rank >= first + gpus_per_node_) continue;
      ++all;
      before += rank < entry.rank ? 1 : 0;
    }
    return {all, before};
  }

  std::span<const ExpertHosts> hosts_;
  std::span<const std::size_t> hosts_of_layer_;
  std::int32_t gpus_per_node_;
  std::int32_t copies_;
};

}  // namespace

Result<ExpertHosts> hosts_of(const ExpertPlacement& placement, std::int32_t gpus_per_node) {
  GOODPUT_CHECK(placement.slots % gpus_per_node == 0,
                "all GPUs of a node must have the same number of slots");
  return ExpertHosts::from_slots(placement.nodes * gpus_per_node, placement.experts,
                                 placement.slots / gpus_per_node, placement.expert_at);
}

Result<std::vector<GpuLoad>> placed_loads(const ExpertHosts& hosts, std::int32_t gpus_per_node,
                                          std::span<const std::int64_t> tokens, const RankSpread& ranks,
                                          std::size_t layer) {
  GOODPUT_TRY_STATUS(check_tokens(hosts, tokens));
  const std::int32_t peers = hosts.ranks() > gpus_per_node ? gpus_per_node : 1;
  std::vector<Tokens> counts;
  if (!ranks.is_even()) counts = rank_tokens(ranks, layer, hosts.ranks(), tokens);
  return Dispatcher(hosts, peers, tokens, {hosts.ranks(), hosts.experts(), counts}).dispatch();
}

ExpertShare busiest_share(std::span<const GpuLoad> loads, std::int32_t gpus_per_node, double mean) {
  std::int64_t most = 0;
  for (const GpuLoad& load : loads) most = std::max(most, load.computed);
  return {static_cast<double>(most), imbalance_of(loads, gpus_per_node, mean)};
}

std::vector<ReplicaGroup> busiest_replicas(std::span<const ExpertHosts> hosts,
                                           std::span<const std::size_t> hosts_of_layer,
                                           std::int32_t gpus_per_node, std::int32_t copies) {
  if (hosts.empty()) return {};
  return ReplicaCounter(hosts, hosts_of_layer, gpus_per_node, copies).of_busiest();
}

}  // namespace goodput
