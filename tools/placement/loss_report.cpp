#include "tools/placement/loss_report.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/base/random.h"

namespace goodput {
namespace {

constexpr double kMostSets = 2'000;  // beyond that, sets are sampled
constexpr int kSampledSets = 1'000;

class LossOfNodes {
 public:
  // Keeps references.
  LossOfNodes(const ClusterPlacement& placed, const std::vector<ExpertPlacement>& plan,
              const LossRequest& request)
      : placed_(placed), plan_(plan), request_(request) {}

  [[nodiscard]] Migration migration(const std::vector<bool>& is_lost) const {
    std::vector<std::int32_t> live;
    for (std::size_t node = 0; node < is_lost.size(); ++node) {
      if (!is_lost[node]) live.push_back(static_cast<std::int32_t>(node));
    }
    for (std::int32_t i = 0; i < request_.joined; ++i)
      live.push_back(static_cast<std::int32_t>(is_lost.size()) + i);
    return migrate(placed_, live, plan_, request_.mapping);
  }

  // Without known bytes 0.
  [[nodiscard]] SimDuration transfer(const Migration& migration) const {
    if (!request_.bytes || !migration.moves.from_checkpoint.empty()) return {};
    const Bytes dense = request_.timing.dense_state ? request_.bytes->dense : Bytes{};
    return migration_time(migration, request_.bytes->expert, request_.timing.moves, dense).transfer;
  }

  void add(const std::vector<bool>& is_lost, LossSpread& spread) const {
    const Migration moved = migration(is_lost);
    ++spread.sets;
    if (!moved.moves.from_checkpoint.empty()) return;
    ++spread.survived;
    const auto add_to = [&spread](LossSpread::Range& range, double value) {
      const bool is_first = spread.survived == 1;
      range.least = is_first ? value : std::min(range.least, value);
      range.most = is_first ? value : std::max(range.most, value);
      range.mean += (value - range.mean) / static_cast<double>(spread.survived);
    };
    add_to(spread.experts, static_cast<double>(moved.newly_assigned));
    add_to(spread.transfer_s, to_seconds(transfer(moved)));
  }

 private:
  const ClusterPlacement& placed_;
  const std::vector<ExpertPlacement>& plan_;
  const LossRequest& request_;
};

double binomial(std::int32_t n, std::int32_t k) {
  double sets = 1;
  for (std::int32_t i = 0; i < k; ++i) sets = sets * (n - i) / (i + 1);
  return sets;
}

LossSpread spread_of(const LossOfNodes& loss, std::int32_t nodes, std::int32_t lose, std::uint64_t seed) {
  LossSpread spread;
  spread.is_sampled = binomial(nodes, lose) > kMostSets;
  std::vector<bool> is_lost(static_cast<std::size_t>(nodes));
  if (!spread.is_sampled) {
    std::fill_n(is_lost.begin(), lose, true);
    do {
      loss.add(is_lost, spread);
    } while (std::prev_permutation(is_lost.begin(), is_lost.end()));
    return spread;
  }
  RandomStream random(seed, "lost nodes");
  std::vector<std::size_t> order(is_lost.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int set = 0; set < kSampledSets; ++set) {
    is_lost.assign(is_lost.size(), false);
    for (std::size_t i = 0; i < static_cast<std::size_t>(lose); ++i) {
      std::swap(order[i], order[i + random.below(order.size() - i)]);
      is_lost[order[i]] = true;
    }
    loss.add(is_lost, spread);
  }
  return spread;
}

// For the loads at the time of the loss, on so many nodes.
Result<PlacedLayers> place_after(const PlacementReport& report, std::int32_t nodes) {
  std::vector<std::vector<std::int64_t>> loads;
  for (const RequestedLayer& layer : report.request.new_layers) loads.push_back(layer.loads);
  ExpertNodes grid = report.request.nodes;
  grid.nodes = nodes;
  Result<PlacedLayers> placed = place_experts(loads, grid, report.request.choice);
  if (!placed) return placed.error().in_file("after the loss");
  return placed;
}

}  // namespace

Result<LossReport> report_loss(const PlacementReport& report, const LossRequest& loss) {
  const std::int32_t nodes = report.request.nodes.nodes;
  LossReport result;
  result.request = loss;
  result.seed = report.request.choice.effort.seed;
  result.nodes_before = nodes;
  result.nodes_after = nodes - loss.lose + loss.joined;
  for (const RequestedLayer& layer : report.request.layers) {
    result.layers.push_back(layer.layer);
    result.experts.push_back(layer.experts);
  }
  GOODPUT_TRY(const PlacedLayers after, place_after(report, result.nodes_after));
  result.min_replicas = after.min_replicas;
  result.min_replicas_before = report.placed.min_replicas;
  ClusterPlacement placed{placements_of(report.placed.layers), {}};
  for (std::int32_t node = 0; node < nodes; ++node) placed.node_ids.push_back(node);
  const std::vector<ExpertPlacement> plan = placements_of(after.layers);
  const LossOfNodes lost(placed, plan, loss);
  if (loss.lost.empty()) {
    result.spread = spread_of(lost, nodes, loss.lose, result.seed);
    return result;
  }
  std::vector<bool> is_lost(static_cast<std::size_t>(nodes));
  for (const std::int32_t node : loss.lost) is_lost[static_cast<std::size_t>(node)] = true;
  result.migration = lost.migration(is_lost);
  result.transfer = lost.transfer(*result.migration);
  return result;
}

}  // namespace goodput
