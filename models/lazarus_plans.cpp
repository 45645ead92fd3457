#include "models/lazarus_plans.h"

#include <algorithm>

#include "models/moe_balance.h"
#include "sim/errors.h"

namespace goodput {
namespace {

constexpr std::size_t kMostMoves = 200'000;  // kept; some 100 MB with a hundred nodes

}  // namespace

LazarusPlans::LazarusPlans(const JobModel& job, const LazarusPlacement& placement,
                           const StepSettings& settings, const MigrationTiming& timing, Bytes expert)
    : job_(&job), placement_(placement), settings_(settings), timing_(timing), expert_(expert) {}

std::int32_t LazarusPlans::least_nodes() const {
  const std::int32_t slots = placement_.slots_per_gpu * job_->plan().cluster.gpus_per_node;
  return (job_->plan().model.moe->experts + slots - 1) / slots;
}

LazarusPlans::PlanId LazarusPlans::plan(std::int32_t nodes, std::size_t window) {
  const auto [found, is_new] = plan_of_.try_emplace({nodes, window}, static_cast<PlanId>(plans_.size()));
  if (!is_new) return found->second;
  const std::int32_t gpus = job_->plan().cluster.gpus_per_node;
  const ExpertNodes grid{nodes, placement_.slots_per_gpu * gpus, gpus};
  const PlacementChoice choice{placement_.allocation, placement_.plan, placement_.min_replicas, {}};
  const Result<PlacedLayers> placed = place_experts(job_->routing().loads(window), grid, choice);
  GOODPUT_CHECK(placed.has_value(), placed.error().message());
  Placed plan{nodes, {}, std::vector<StepTime>(job_->routing().windows())};
  for (const PlacedLayer& layer : placed->layers)
    plan.layers.push_back(in_order_of_gpus(layer.placement, layer.layer, gpus));
  plans_.push_back(std::move(plan));
  return found->second;
}

const StepTime& LazarusPlans::step(PlanId plan, std::size_t window, double slowest) {
  Placed& placed = plans_[static_cast<std::size_t>(plan)];
  StepTime& healthy = placed.steps[window];
  if (slowest == 1 && healthy.step > SimDuration{}) return healthy;
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  const Result<StepTime> time =
      job_->steps().flexible(placed.layers, job_->routing().loads(window), settings);
  GOODPUT_CHECK(time.has_value(), time.error().message());
  return (slowest == 1 ? healthy : slow_) = *time;
}

const LazarusPlans::Move& LazarusPlans::move(PlanId from, const std::vector<bool>& is_left,
                                             std::int32_t joined, PlanId to) {
  GOODPUT_CHECK(static_cast<std::int32_t>(is_left.size()) == nodes(from), "places of another plan");
  std::vector<std::uint64_t> key = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                                    static_cast<std::uint64_t>(joined)};
  key.resize(3 + (is_left.size() + 63) / 64);
  for (std::size_t place = 0; place < is_left.size(); ++place)
    key[3 + place / 64] |= std::uint64_t{is_left[place]} << place % 64;
  if (moves_.size() >= kMostMoves) moves_.clear();
  const auto [found, is_new] = moves_.try_emplace(std::move(key));
  if (is_new) {
    found->second = compute(plans_[static_cast<std::size_t>(from)], is_left, joined,
                            plans_[static_cast<std::size_t>(to)]);
  }
  return found->second;
}

LazarusPlans::Move LazarusPlans::compute(const Placed& from, const std::vector<bool>& is_left,
                                         std::int32_t joined, const Placed& to) const {
  PlacedExperts held{from.layers, {}};
  std::vector<std::int32_t> live;
  for (std::int32_t place = 0; place < from.nodes; ++place) {
    held.node_ids.push_back(place);
    if (is_left[static_cast<std::size_t>(place)]) live.push_back(place);
  }
  for (std::int32_t i = 0; i < joined; ++i) live.push_back(from.nodes + i);
  const Migration migration = migrate(held, live, to.layers, placement_.mapping);
  Move move;
  move.is_possible = migration.moves.from_checkpoint.empty();
  if (!move.is_possible) return move;
  move.node_of_place = migration.placed.node_ids;
  move.experts = migration.newly_assigned;
  move.time = migration_time(migration, expert_, timing_);
  return move;
}

}  // namespace goodput
