// How many experts move, and for how long, in the settings of Lazarus' Table 2 (arXiv 2407.04656): GPT-S and
// GPT-L lose nodes of ten, loads from the trace that the paper uses.
#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <filesystem>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "models/migration/expert_migration.h"
#include "models/migration/reconfiguration.h"
#include "models/placement/placement_rules.h"
#include "models/placement/replica_allocation.h"
#include "traces/routing/routing_reader.h"

namespace goodput {
namespace {

using Nodes = std::vector<std::int32_t>;
using Place = ExpertPlacement (*)(const LayerDemand&, const SlotGrid&);

constexpr std::int32_t kNodes = 10;
constexpr std::int32_t kSlots = 6;
constexpr std::size_t kLayers = 12;
constexpr std::int64_t kMib = 1 << 20;
constexpr Bytes kSmallExpert{63 * kMib};
constexpr Bytes kLargeExpert{112 * kMib};

// Nothing, with a message, where there is no shared data.
std::optional<RoutingTrace> published_trace() {
  const std::filesystem::path path =
      std::filesystem::path(GOODPUT_SHARED_DATA) / "routing" / "smartmoe_expert_load_agg.csv.gz";
  if (!std::filesystem::exists(path)) {
    MESSAGE("skipped: no shared data");
    return std::nullopt;
  }
  Result<RoutingTrace> trace = read_routing_trace(path.string());
  REQUIRE_MESSAGE(trace, (trace ? "" : trace.error().message()));
  return *std::move(trace);
}

constexpr std::int64_t kChosenAt = 201;  // the experts of a job are those that are busiest then

// Of the most loaded experts of a layer, in order of their numbers.
std::vector<std::size_t> top_experts(std::span<const std::int64_t> loads, std::size_t experts) {
  std::vector<std::size_t> order(loads.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, [loads](std::size_t a, std::size_t b) { return loads[a] > loads[b]; });
  order.resize(experts);
  std::ranges::sort(order);
  return order;
}

// Eq. 1 with f = 2, all layers, for the loads of an iteration.
std::vector<ExpertPlacement> planned(const RoutingTrace& trace, std::size_t experts, std::int32_t nodes,
                                     Place place, std::int64_t iteration = kChosenAt) {
  std::vector<ExpertPlacement> layers;
  for (std::size_t layer = 0; layer < kLayers; ++layer) {
    std::vector<std::int64_t> loads;
    for (const std::size_t e : top_experts(trace.loads(trace.index_at(kChosenAt), layer), experts))
      loads.push_back(trace.loads(trace.index_at(iteration), layer)[e]);
    const SlotGrid grid{nodes, kSlots};
    layers.push_back(
        place({allocate_replicas(Allocation::kEq1, loads, grid, 2).value().replicas, loads}, grid));
  }
  return layers;
}

ClusterPlacement placed_on_ten(std::vector<ExpertPlacement> layers) {
  ClusterPlacement placed{std::move(layers), Nodes(kNodes)};
  std::iota(placed.node_ids.begin(), placed.node_ids.end(), 0);
  return placed;
}

// Maximum rank overlap whose left-over replicas fill node after node rather than the emptiest.
ExpertPlacement place_mro_filling_in_order(const LayerDemand& layer, const SlotGrid& grid) {
  std::vector<Nodes> held(static_cast<std::size_t>(grid.nodes));
  std::vector<std::int32_t> left = layer.replicas;
  const std::vector<ExpertGroup> groups = overlap_groups(layer, grid);
  auto node = held.begin();
  for (const ExpertGroup& group : groups) {
    for (std::int32_t n = 0; n < group.nodes; ++n, ++node) *node = group.experts;
    for (const std::int32_t e : group.experts) left[static_cast<std::size_t>(e)] -= group.nodes;
  }
  node = held.begin();
  for (const ExpertGroup& group : groups) {
    for (const std::int32_t e : group.experts) {
      for (std::int32_t i = 0; i < left[static_cast<std::size_t>(e)]; ++i) {
        while (node->size() == static_cast<std::size_t>(grid.slots)) ++node;
        node->push_back(e);
      }
    }
  }
  ExpertPlacement placement{layer.experts(), grid.nodes, grid.slots, {}};
  for (Nodes& experts : held) {
    std::ranges::sort(experts);
    placement.expert_at.insert(placement.expert_at.end(), experts.begin(), experts.end());
  }
  return placement;
}

// All sets of nodes that are left when `lost` of the ten fail.
std::vector<Nodes> survivors(int lost) {
  std::vector<Nodes> sets;
  for (std::uint32_t failed = 0; failed < 1U << kNodes; ++failed) {
    if (std::popcount(failed) != lost) continue;
    sets.emplace_back();
    for (std::int32_t n = 0; n < kNodes; ++n) {
      if ((failed >> n & 1U) == 0) sets.back().push_back(n);
    }
  }
  return sets;
}

struct Spread {
  std::int64_t sets = 0;  // of failed nodes, that the experts outlive
  std::int64_t least_moved = std::numeric_limits<std::int64_t>::max(), most_moved = 0;
  double mean_moved = 0;
  double least_s = std::numeric_limits<double>::infinity(), most_s = 0;  // of transfers
};

// Iterations of the loads that the placements before and after the failures are for.
struct LoadsAt {
  std::int64_t before = kChosenAt;
  std::int64_t after = kChosenAt;
};

// Over all failures that the experts outlive.
Spread spread_of(const RoutingTrace& trace, std::size_t experts, int lost, MappingRule rule,
                 Place place = place_mro, const LoadsAt& loads = {}) {
  const ClusterPlacement placed = placed_on_ten(planned(trace, experts, kNodes, place, loads.before));
  const std::vector<ExpertPlacement> plan = planned(trace, experts, kNodes - lost, place, loads.after);
  Spread spread;
  for (const Nodes& live : survivors(lost)) {
    const Migration migration = migrate(placed, live, plan, rule);
    if (!migration.moves.from_checkpoint.empty()) continue;
    const Bytes expert = experts == 8 ? kSmallExpert : kLargeExpert;
    const double seconds = to_seconds(migration_time(migration, expert, {}).transfer);
    ++spread.sets;
    spread.mean_moved += static_cast<double>(migration.newly_assigned);
    spread.least_moved = std::min(spread.least_moved, migration.newly_assigned);
    spread.most_moved = std::max(spread.most_moved, migration.newly_assigned);
    spread.least_s = std::min(spread.least_s, seconds);
    spread.most_s = std::max(spread.most_s, seconds);
  }
  spread.mean_moved /= static_cast<double>(spread.sets);
  return spread;
}

std::pair<std::int64_t, std::int64_t> moved(const Spread& spread) {
  return {spread.least_moved, spread.most_moved};
}

// The sets of four of these nodes without which every expert is still there. `ids` names the nodes, by layer.
int survived_fours(std::span<const ExpertPlacement> layers, std::span<const Nodes> ids) {
  std::vector<std::uint32_t> nodes_of;  // by expert of all layers
  std::uint32_t all = 0;
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    std::vector<std::uint32_t> of_layer(static_cast<std::size_t>(layers[layer].experts));
    for (std::int32_t n = 0; n < layers[layer].nodes; ++n) {
      const std::uint32_t bit = 1U << ids[layer][static_cast<std::size_t>(n)];
      all |= bit;
      for (const std::int32_t e : layers[layer].node(n)) of_layer[static_cast<std::size_t>(e)] |= bit;
    }
    nodes_of.insert(nodes_of.end(), of_layer.begin(), of_layer.end());
  }
  int survived = 0;
  for (std::uint32_t failed = 0; failed < 1U << kNodes; ++failed) {
    if (std::popcount(failed) != 4 || (failed & ~all) != 0) continue;
    if (std::ranges::all_of(nodes_of, [failed](std::uint32_t nodes) { return (nodes & ~failed) != 0; })) {
      ++survived;
    }
  }
  return survived;
}

// The same after every layer was mapped by itself.
int survived_fours_layer_by_layer(const ClusterPlacement& placed, const Nodes& live,
                                  std::span<const ExpertPlacement> plan) {
  std::vector<Nodes> ids;
  for (std::size_t layer = 0; layer < plan.size(); ++layer) {
    const ClusterPlacement one{{placed.layers[layer]}, placed.node_ids};
    ids.push_back(migrate(one, live, {plan[layer]}, MappingRule::kOptimal).placed.node_ids);
  }
  return survived_fours(plan, ids);
}

}  // namespace

TEST_CASE("migration: the experts that Lazarus' Table 2 moves lie within the range over all failures") {
  const auto trace = published_trace();
  if (!trace) return;
  // Step 200 with loads as they were at the last placement, and with a placement 10 iterations old; step 4000
  // with a placement 200 steps old.
  const LoadsAt aged{191, 201};
  const LoadsAt late{3801, 4001};
  struct Row {
    std::string name;
    Spread spread;
    std::int64_t sets, least, most;
    double mean;             // 0: not compared
    std::int64_t published;  // experts; 0: not compared
    double transfer_s, total_s;
    bool in_sequence, in_overlap;  // whether the total lies within our limits
  };
  const auto greedy = [&trace](std::size_t experts, int lost, const LoadsAt& loads) {
    return spread_of(*trace, experts, lost, MappingRule::kGreedy, place_mro, loads);
  };
  const Row rows[] = {{"S, 2", greedy(8, 2, {}), 44, 4, 67, 0, 11, 2.3, 21.3, true, true},
                      {"S, 2 aged", greedy(8, 2, aged), 44, 14, 81, 0, 0, 2.3, 21.3, true, true},
                      {"S, 3", greedy(8, 3, late), 112, 11, 78, 45, 52, 3.0, 34.1, true, false},
                      {"L, 4", greedy(16, 4, aged), 129, 50, 179, 137, 160, 7.6, 18.2, false, true},
                      {"L, 5", greedy(16, 5, late), 102, 23, 86, 44, 55, 7.8, 19.7, true, true}};
  const ReconfigurationTiming published{.detect = {from_seconds(10), from_seconds(20)},
                                        .regroup = {from_seconds(5), from_seconds(15)}};
  ReconfigurationTiming overlap = published;
  overlap.overlap = true;
  for (const Row& row : rows) {
    const Spread& spread = row.spread;
    INFO(row.name);
    MESSAGE(row.name << ": sets " << spread.sets << ", moved " << spread.least_moved << " to "
                     << spread.most_moved << ", mean " << spread.mean_moved << "; transfers "
                     << spread.least_s << " to " << spread.most_s << " s");
    CHECK(spread.sets == row.sets);
    CHECK(moved(spread) == std::pair(row.least, row.most));
    if (row.mean > 0) CHECK(std::abs(spread.mean_moved - row.mean) < 0.5);
    if (row.published > 0) CHECK((row.published >= row.least && row.published <= row.most));
    CHECK((spread.least_s <= row.transfer_s && spread.most_s >= row.transfer_s));
    // From detection to training, with our times of transfers: 10 to 20 s, 5 to 15 s and 0.1 s for the plan.
    const auto within = [&](const ReconfigurationTiming& timing) {
      const TimeRange before = until_regrouped(timing);
      return row.total_s >= to_seconds(before.least) + 0.1 + spread.least_s &&
             row.total_s <= to_seconds(before.most) + 0.1 + spread.most_s;
    };
    CHECK(within(published) == row.in_sequence);
    CHECK(within(overlap) == row.in_overlap);
    // With the paper's own time of the transfer GPT-L leaves 10.6 and 11.9 s, less than 10 + 5 s in sequence.
    // GPT-S with 3 lost takes longer than overlap allows: 31.1 s against 20 s.
    const double left = row.total_s - row.transfer_s;
    CHECK((left >= to_seconds(until_regrouped(published).least)) == (row.name[0] == 'S'));
    CHECK(left >= to_seconds(until_regrouped(overlap).least));
  }
}

TEST_CASE(
    "migration: the optimal mapping moves less than the greedy one where loads are those of the trace") {
  const auto trace = published_trace();
  if (!trace) return;
  CHECK(moved(spread_of(*trace, 8, 2, MappingRule::kOptimal)) ==
        std::pair<std::int64_t, std::int64_t>{4, 60});
  CHECK(moved(spread_of(*trace, 8, 3, MappingRule::kOptimal)) ==
        std::pair<std::int64_t, std::int64_t>{3, 63});
}

TEST_CASE("migration: how many experts move depends on where replicas that are left over go") {
  const auto trace = published_trace();
  if (!trace) return;
  // Worked out by other means, replicas filling node after node: 20 to 101 greedily, 6 to 77 at best.
  CHECK(moved(spread_of(*trace, 8, 2, MappingRule::kGreedy, place_mro_filling_in_order)) ==
        std::pair<std::int64_t, std::int64_t>{20, 101});
  CHECK(moved(spread_of(*trace, 8, 2, MappingRule::kOptimal, place_mro_filling_in_order)) ==
        std::pair<std::int64_t, std::int64_t>{6, 77});
}

TEST_CASE("migration: layers mapped by themselves no longer fail together, and survive less") {
  const auto trace = published_trace();
  if (!trace) return;
  // GPT-L loses two nodes; then four of the other eight, 70 sets.
  const ClusterPlacement placed = placed_on_ten(planned(*trace, 16, kNodes, place_mro));
  const std::vector<ExpertPlacement> plan = planned(*trace, 16, kNodes - 2, place_mro);
  int least = 70;
  int sum = 0;
  int of_six = 0;
  for (const Nodes& live : survivors(2)) {
    const std::vector<Nodes> joint(plan.size(),
                                   migrate(placed, live, plan, MappingRule::kGreedy).placed.node_ids);
    CHECK(survived_fours(plan, joint) == 28);
    const int alone = survived_fours_layer_by_layer(placed, live, plan);
    least = std::min(least, alone);
    sum += alone;
    if (alone == 6) ++of_six;
  }
  MESSAGE("layer by layer: " << least << " of 70 at least, " << sum / 45.0 << " in the mean, 6 after "
                             << of_six << " of 45 pairs of failures");
  CHECK(least < 6);
  CHECK(of_six > 0);
  CHECK(sum < 45 * 28);
}

}  // namespace goodput
