#include "models/policy/lazarus_placements.h"

#include <algorithm>
#include <numeric>

#include "models/placement/gpu_slots.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr std::size_t kMostMoves = 200'000;  // kept; some 100 MB with a hundred nodes

}  // namespace

LazarusPlacements::LazarusPlacements(const JobModel& job, const LazarusRules& rules,
                                     const StepSettings& settings, const MigrationTiming& timing,
                                     Bytes expert)
    : job_(&job), rules_(rules), settings_(settings), timing_(timing), expert_(expert) {}

std::int32_t LazarusPlacements::least_nodes() const {
  const std::int32_t slots = rules_.slots_per_gpu * job_->plan().cluster.gpus_per_node;
  return (job_->plan().model.moe->experts + slots - 1) / slots;
}

std::int32_t LazarusPlacements::unit() const {
  const ParallelPlan& plan = job_->plan().parallel;
  const std::int64_t gpus = job_->plan().cluster.gpus_per_node;
  return static_cast<std::int32_t>(std::lcm(std::int64_t{plan.pp} * plan.tp * plan.cp, gpus) / gpus);
}

std::int32_t LazarusPlacements::whole(std::int32_t nodes) const {
  const std::int32_t filled = std::min(nodes, job_->most_nodes()) / unit() * unit();
  return filled >= least_nodes() ? filled : 0;
}

// As many at least as hold every expert: some then train, and count, less than they could.
std::int32_t LazarusPlacements::usable(std::int32_t nodes) const {
  const std::int32_t filled = whole(nodes);
  if (filled == 0) return 0;
  const std::int32_t train = job_->steps().usable_nodes(filled, 1);
  const std::int32_t hold = (least_nodes() + unit() - 1) / unit() * unit();
  return train == 0 ? 0 : std::max(train, hold);
}

Result<LazarusPlacements::Placed> LazarusPlacements::place(std::int32_t nodes, std::size_t window) const {
  const std::int32_t gpus = job_->plan().cluster.gpus_per_node;
  const ExpertNodes grid{nodes, rules_.slots_per_gpu * gpus, gpus};
  const PlacementChoice choice{rules_.allocation, rules_.rule, rules_.min_replicas, {}};
  GOODPUT_TRY(const PlacedLayers layers, place_experts(job_->routing().loads(window), grid, choice));
  Placed placed{nodes, window, {}, std::vector<StepTime>(job_->routing().windows())};
  for (const PlacedLayer& layer : layers.layers)
    placed.layers.push_back(in_order_of_gpus(layer.placement, layer.layer, gpus));
  return placed;
}

Result<StepTime> LazarusPlacements::time(const Placed& placed, std::size_t window, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  return job_->steps().flexible(placed.layers, job_->routing().loads(window), settings);
}

Result<StepTime> LazarusPlacements::check(std::int32_t nodes) const {
  GOODPUT_TRY(const Placed placed, place(nodes, 0));
  return time(placed, 0, 1);
}

LazarusPlacements::PlacementId LazarusPlacements::placement(std::int32_t nodes, std::size_t window) {
  const auto [found, is_new] =
      placement_of_.try_emplace({nodes, window}, static_cast<PlacementId>(placements_.size()));
  if (!is_new) return found->second;
  Result<Placed> placed = place(nodes, window);
  GOODPUT_CHECK(placed.has_value(), placed.error().message());
  placements_.push_back(*std::move(placed));
  return found->second;
}

const StepTime& LazarusPlacements::step(PlacementId placement, std::size_t window, double slowest) {
  Placed& placed = placements_[static_cast<std::size_t>(placement)];
  StepTime& healthy = placed.steps[window];
  const std::tuple<PlacementId, std::size_t, double> key{placement, window, slowest};
  if (slowest == 1 && healthy.step > SimDuration{}) return healthy;
  if (slowest != 1 && key == slow_key_) return slow_;
  const Result<StepTime> time = this->time(placed, window, slowest);
  GOODPUT_CHECK(time.has_value(), time.error().message());
  GOODPUT_CHECK(time->step > SimDuration{}, "a step that takes no time");
  if (slowest == 1) return healthy = *time;
  slow_key_ = key;
  return slow_ = *time;
}

const LazarusPlacements::Move& LazarusPlacements::move(PlacementId from, const std::vector<bool>& is_left,
                                                       std::int32_t joined, PlacementId to) {
  GOODPUT_CHECK(static_cast<std::int32_t>(is_left.size()) == nodes(from), "places of another placement");
  std::vector<std::uint64_t> key = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                                    static_cast<std::uint64_t>(joined)};
  key.resize(3 + (is_left.size() + 63) / 64);
  for (std::size_t place = 0; place < is_left.size(); ++place)
    key[3 + place / 64] |= std::uint64_t{is_left[place]} << place % 64;
  if (moves_.size() >= kMostMoves) moves_.clear();
  const auto [found, is_new] = moves_.try_emplace(std::move(key));
  if (is_new) {
    found->second = compute(placements_[static_cast<std::size_t>(from)], is_left, joined,
                            placements_[static_cast<std::size_t>(to)]);
  }
  return found->second;
}

LazarusPlacements::Move LazarusPlacements::compute(const Placed& from, const std::vector<bool>& is_left,
                                                   std::int32_t joined, const Placed& to) const {
  ClusterPlacement held{from.layers, {}};
  std::vector<std::int32_t> live;
  for (std::int32_t place = 0; place < from.nodes; ++place) {
    held.node_ids.push_back(place);
    if (is_left[static_cast<std::size_t>(place)]) live.push_back(place);
  }
  for (std::int32_t i = 0; i < joined; ++i) live.push_back(from.nodes + i);
  const Migration migration = migrate(held, live, to.layers, rules_.mapping);
  Move move;
  move.is_possible = migration.moves.from_checkpoint.empty();
  if (!move.is_possible) return move;
  move.node_of_place = migration.placed.node_ids;
  move.experts = migration.newly_assigned;
  move.time = migration_time(migration, expert_, timing_);
  return move;
}

}  // namespace goodput
