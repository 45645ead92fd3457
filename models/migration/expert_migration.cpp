#include "models/migration/expert_migration.h"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {
namespace {

template <typename Visit>
void for_each_bit(std::uint64_t word, std::size_t first, const Visit& visit) {
  for (; word != 0; word &= word - 1) visit(first + static_cast<std::size_t>(std::countr_zero(word)));
}

// The nodes that hold each expert of one layer, ascending.
class LayerOwners {
 public:
  LayerOwners(const NodeExperts& held, std::int32_t layer)
      : first_(static_cast<std::size_t>(held.experts()[static_cast<std::size_t>(layer)]) + 1) {
    for_each_held(held, layer, [this](std::int32_t /*node*/, std::size_t e) { ++first_[e + 1]; });
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    nodes_.resize(first_.back());
    std::vector<std::size_t> next = first_;
    for_each_held(held, layer, [&](std::int32_t node, std::size_t e) { nodes_[next[e]++] = node; });
  }

  [[nodiscard]] std::span<const std::int32_t> of(std::int32_t expert) const {
    const auto e = static_cast<std::size_t>(expert);
    return std::span(nodes_).subspan(first_[e], first_[e + 1] - first_[e]);
  }

 private:
  template <typename Visit>
  static void for_each_held(const NodeExperts& held, std::int32_t layer, const Visit& visit) {
    for (std::int32_t node = 0; node < held.nodes(); ++node) {
      const std::span<const std::uint64_t> words = held.layer(node, layer);
      for (std::size_t w = 0; w < words.size(); ++w) {
        for_each_bit(words[w], w * kWordBits, [&](std::size_t e) { visit(node, e); });
      }
    }
  }

  std::vector<std::size_t> first_;  // by expert: of its nodes
  std::vector<std::int32_t> nodes_{};
};

// Gives the nodes with an expert one by one: of those that have the least to send the first. What they have
// to send only grows, so that one look at them all lasts until every one has more than the least had before.
class Senders {
 public:
  explicit Senders(std::span<const std::int32_t> owners) : owners_(owners) {}

  [[nodiscard]] std::size_t size() const { return owners_.size(); }

  // REQUIRES: there are some.
  [[nodiscard]] std::int32_t next(std::vector<std::int64_t>& sent) {
    while (true) {
      for (; next_ < owners_.size(); ++next_) {
        std::int64_t& now = sent[static_cast<std::size_t>(owners_[next_])];
        if (now > least_) continue;
        ++now;
        return owners_[next_];
      }
      const std::int32_t least = *std::ranges::min_element(
          owners_, {}, [&sent](std::int32_t node) { return sent[static_cast<std::size_t>(node)]; });
      least_ = sent[static_cast<std::size_t>(least)];
      next_ = 0;
    }
  }

 private:
  std::span<const std::int32_t> owners_;
  std::int64_t least_ = 0;  // none has less, and those before next_ have more
  std::size_t next_ = 0;
};

struct Request {
  ExpertTransfer transfer;  // `from` is not known yet
  std::uint32_t owners;     // how many there are
  std::uint32_t senders;    // which list of them
};

struct Missing {
  std::int32_t expert;
  std::int32_t to;
};

// What the receiver is to hold of the layer and does not.
template <typename Visit>
void for_each_missing(const NodeExperts& held, const NodeExperts& plan, std::int32_t layer,
                      std::span<const std::int32_t> physical_of, const Visit& visit) {
  for (std::int32_t q = 0; q < plan.nodes(); ++q) {
    const std::int32_t to = physical_of[static_cast<std::size_t>(q)];
    const std::span<const std::uint64_t> wanted = plan.layer(q, layer);
    const std::span<const std::uint64_t> has = held.layer(to, layer);
    for (std::size_t w = 0; w < wanted.size(); ++w) {
      for_each_bit(wanted[w] & ~has[w], w * kWordBits,
                   [&](std::size_t e) { visit(static_cast<std::int32_t>(e), to); });
    }
  }
}

void choose_senders(std::vector<Request>& requests, std::vector<Senders>& senders, std::int32_t nodes) {
  std::ranges::sort(requests, [](const Request& a, const Request& b) {
    if (a.owners != b.owners) return a.owners < b.owners;
    return a.transfer < b.transfer;
  });
  std::vector<std::int64_t> sent(static_cast<std::size_t>(nodes));
  for (Request& request : requests) request.transfer.from = senders[request.senders].next(sent);
}

constexpr double kMostSeconds = 3600;

// By position among `live`: whether the node was there before.
std::vector<bool> survivors_of(std::vector<std::int32_t> before, std::span<const std::int32_t> live) {
  std::ranges::sort(before);
  std::vector<bool> survives;
  for (const std::int32_t id : live) survives.push_back(std::ranges::binary_search(before, id));
  return survives;
}

void name_nodes(Migration& migration, std::span<const std::int32_t> ids) {
  const auto id_of = [ids](std::int32_t node) { return ids[static_cast<std::size_t>(node)]; };
  const auto name_both = [id_of](auto& transfer) {
    transfer.from = id_of(transfer.from);
    transfer.to = id_of(transfer.to);
  };
  std::ranges::for_each(migration.moves.transfers, name_both);
  std::ranges::for_each(migration.dense, name_both);
  for (ExpertRestore& restore : migration.moves.from_checkpoint) restore.to = id_of(restore.to);
}

std::vector<std::int32_t> ids_left_over(std::span<const std::int32_t> live, std::vector<std::int32_t> used) {
  std::vector<std::int32_t> idle;
  std::ranges::sort(used);
  std::ranges::set_difference(live, used, std::back_inserter(idle));
  return idle;
}

bool ascend_strictly(std::span<const std::int32_t> ids) {
  return std::ranges::adjacent_find(ids, std::ranges::greater_equal()) == ids.end();
}

}  // namespace

ExpertMoves plan_transfers(const NodeExperts& held, const NodeExperts& plan,
                           std::span<const std::int32_t> physical_of) {
  GOODPUT_CHECK(plan.experts() == held.experts() && plan.classes() == held.classes(),
                "the plan must be for the layers and experts that nodes hold");
  GOODPUT_CHECK(physical_of.size() == static_cast<std::size_t>(plan.nodes()),
                "every place in the plan needs a node");
  ExpertMoves result;
  std::vector<LayerOwners> owners;
  std::vector<Senders> senders;  // by layer and expert
  std::vector<std::uint32_t> first_senders;
  std::vector<std::vector<Missing>> missing(static_cast<std::size_t>(held.layers()));
  for (std::int32_t layer = 0; layer < held.layers(); ++layer) {
    const LayerOwners& of_layer = owners.emplace_back(held, layer);
    first_senders.push_back(static_cast<std::uint32_t>(senders.size()));
    const std::int32_t experts = held.experts()[static_cast<std::size_t>(layer)];
    for (std::int32_t expert = 0; expert < experts; ++expert) senders.emplace_back(of_layer.of(expert));
    for_each_missing(held, plan, layer, physical_of, [&](std::int32_t expert, std::int32_t to) {
      missing[static_cast<std::size_t>(layer)].push_back({expert, to});
    });
  }
  std::vector<Request> requests;
  for (std::size_t layer = 0; layer < held.classes().layers(); ++layer) {
    const std::size_t of_class = held.classes().of(layer);
    for (const auto& [expert, to] : missing[of_class]) {
      const std::uint32_t list = first_senders[of_class] + static_cast<std::uint32_t>(expert);
      const auto count = static_cast<std::uint32_t>(senders[list].size());
      if (count == 0) {
        result.from_checkpoint.push_back({static_cast<std::int32_t>(layer), expert, to});
      } else {
        requests.push_back({{static_cast<std::int32_t>(layer), expert, 0, to}, count, list});
      }
    }
  }
  choose_senders(requests, senders, held.nodes());
  for (const Request& request : requests) result.transfers.push_back(request.transfer);
  std::ranges::sort(result.transfers);
  std::ranges::sort(result.from_checkpoint);
  return result;
}

std::vector<NodeTraffic> node_traffic(std::span<const ExpertTransfer> transfers, std::int32_t nodes) {
  std::vector<NodeTraffic> traffic(static_cast<std::size_t>(nodes));
  for (const ExpertTransfer& transfer : transfers) {
    ++traffic[static_cast<std::size_t>(transfer.from)].sent;
    ++traffic[static_cast<std::size_t>(transfer.to)].received;
  }
  return traffic;
}

std::vector<DenseTransfer> plan_dense_transfers(const std::vector<bool>& is_survivor,
                                                std::span<const std::int32_t> placed_nodes,
                                                std::vector<NodeTraffic>& traffic) {
  std::vector<std::int32_t> senders;
  for (std::size_t node = 0; node < is_survivor.size(); ++node) {
    if (is_survivor[node]) senders.push_back(static_cast<std::int32_t>(node));
  }
  std::ranges::stable_sort(
      senders, {}, [&traffic](std::int32_t node) { return traffic[static_cast<std::size_t>(node)].sent; });
  std::vector<DenseTransfer> transfers;
  for (const std::int32_t to : placed_nodes) {
    if (senders.empty() || is_survivor[static_cast<std::size_t>(to)]) continue;
    const std::int32_t from = senders[transfers.size() % senders.size()];
    transfers.push_back({from, to});
    ++traffic[static_cast<std::size_t>(from)].dense_sent;
    ++traffic[static_cast<std::size_t>(to)].dense_received;
  }
  return transfers;
}

Migration migrate(const ClusterPlacement& placed, std::span<const std::int32_t> live_ids,
                  std::vector<ExpertPlacement> plan, MappingRule rule) {
  const LayerClasses distinct = LayerClasses::distinct(plan.size());
  return migrate(placed, live_ids, std::move(plan), rule, distinct);
}

Migration migrate(const ClusterPlacement& placed, std::span<const std::int32_t> live_ids,
                  std::vector<ExpertPlacement> plan, MappingRule rule, const LayerClasses& classes) {
  GOODPUT_CHECK(ascend_strictly(live_ids), "ids of live nodes must be in ascending order");
  const NodeExperts held(placed, live_ids, classes);
  const NodeExperts wanted(plan, classes);
  const NodeMapping mapping = map_nodes(held, wanted, rule);

  Migration migration;
  migration.newly_assigned = mapping.cost;
  migration.moves = plan_transfers(held, wanted, mapping.physical_of);
  GOODPUT_CHECK(migration.moves.transfers.size() + migration.moves.from_checkpoint.size() ==
                    static_cast<std::size_t>(mapping.cost),
                "every newly assigned expert must be transferred or restored");
  migration.traffic = node_traffic(migration.moves.transfers, held.nodes());
  migration.dense =
      plan_dense_transfers(survivors_of(placed.node_ids, live_ids), mapping.physical_of, migration.traffic);
  name_nodes(migration, live_ids);
  migration.placed.layers = std::move(plan);
  for (const std::int32_t physical : mapping.physical_of) {
    migration.placed.node_ids.push_back(live_ids[static_cast<std::size_t>(physical)]);
  }
  migration.idle_ids = ids_left_over(live_ids, migration.placed.node_ids);
  return migration;
}

config::Fields config_fields(MigrationTiming& timing) {
  using config::Need;
  const auto seconds = [](SimDuration& value) {
    return config::number(value, config::between(0, kMostSeconds), from_seconds(1));
  };
  return {{"detect_s", Need::kOptional, seconds(timing.detect), "time from a failure to its detection"},
          {"regroup_s", Need::kOptional, seconds(timing.regroup),
           "time for the surviving nodes to form new process groups"},
          {"plan_s", Need::kOptional, seconds(timing.plan), "time to compute the new placement"},
          {"transfer_setup_s", Need::kOptional, seconds(timing.transfer_setup),
           "fixed time of every migration of experts, in addition to the transfers"},
          {"node_gb_per_s", Need::kOptional, config::number(timing.node, config::between(1e-3, 1e12), 1e9),
           "bandwidth of a node, in each direction, when experts move"}};
}

MigrationTime migration_time(const Migration& migration, Bytes expert, const MigrationTiming& timing,
                             Bytes dense) {
  GOODPUT_CHECK(migration.moves.from_checkpoint.empty(), "all experts must have survived");
  MigrationTime time{timing.detect, timing.regroup, timing.plan, {}};
  if (migration.moves.transfers.empty() && (migration.dense.empty() || dense == Bytes{})) return time;
  Bytes busiest{};
  for (const NodeTraffic& node : migration.traffic) {
    busiest = std::max({busiest, expert * node.sent + dense * node.dense_sent,
                        expert * node.received + dense * node.dense_received});
  }
  time.transfer = timing.transfer_setup + busiest / timing.node;
  return time;
}

}  // namespace goodput
