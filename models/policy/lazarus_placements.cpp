#include "models/policy/lazarus_placements.h"

#include <algorithm>
#include <numeric>

#include "models/placement/gpu_slots.h"
#include "sim/base/errors.h"

namespace goodput {
namespace {

// Moves that are kept take some 100 MB.
std::size_t most_moves(std::int32_t nodes) {
  return 20'000'000 / static_cast<std::size_t>(std::max(100, nodes));
}

// Layers that are placed alike: in all windows, so that migrations between them are alike, too. A search
// places layers with equal loads each its own way.
LayerClasses classes_of(const JobRouting& routing, PlacementRule rule) {
  const std::size_t layers = routing.loads(0).size();
  if (rule == PlacementRule::kBest) return LayerClasses::distinct(layers);
  LayerClasses classes = LayerClasses::together(layers);
  for (std::size_t window = 0; window < routing.windows(); ++window) classes.part(routing.loads(window));
  return classes;
}

}  // namespace

LazarusPlacements::LazarusPlacements(const JobModel& job, const LazarusRules& rules,
                                     const StepSettings& settings, const MigrationTiming& timing,
                                     Bytes expert, Bytes dense)
    : job_(&job),
      rules_(rules),
      settings_(settings),
      timing_(timing),
      expert_(expert),
      dense_(dense),
      classes_(classes_of(job.routing(), rules.rule)),
      moves_(most_moves(job.most_nodes())) {}

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

std::int32_t LazarusPlacements::least_usable() const {
  std::int32_t least = least_nodes();
  while (usable(least) == 0) ++least;
  return least;
}

Result<LazarusPlacements::Layers> LazarusPlacements::place(std::int32_t nodes, std::size_t window) const {
  const std::int32_t gpus = job_->plan().cluster.gpus_per_node;
  const ExpertNodes grid{nodes, rules_.slots_per_gpu * gpus, gpus};
  const PlacementChoice choice{rules_.allocation, rules_.rule, rules_.min_replicas, {}};
  GOODPUT_TRY(const PlacedLayers placed,
              place_experts(classes_.one_of_each(job_->routing().loads(window)), grid, choice));
  Layers layers;
  for (const PlacedLayer& layer : placed.layers)
    layers.push_back(in_order_of_gpus(layer.placement, layer.layer, gpus));
  return layers;
}

const LazarusPlacements::Layers& LazarusPlacements::layers(PlacementId placement) const {
  return layers_.at({placement}, [&] {
    Result<Layers> layers = place(nodes(placement), window(placement));
    GOODPUT_CHECK(layers.has_value(), layers.error().message());
    return *std::move(layers);
  });
}

Result<StepTime> LazarusPlacements::time(const Layers& layers, std::size_t window, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  return job_->steps().flexible(layers, classes_, job_->routing().loads(window), settings);
}

Result<StepTime> LazarusPlacements::check(std::int32_t nodes) const {
  GOODPUT_TRY(const Layers layers, place(nodes, 0));
  return time(layers, 0, 1);
}

StepTime LazarusPlacements::step(PlacementId placement, std::size_t window, double slowest) const {
  const auto compute = [&] {
    const Result<StepTime> time = this->time(layers(placement), window, slowest);
    GOODPUT_CHECK(time.has_value(), time.error().message());
    GOODPUT_CHECK(time->step > SimDuration{}, "a step must take time");
    return *time;
  };
  if (slowest == 1) return healthy_.at({placement, static_cast<std::int64_t>(window)}, compute);
  return slow_.at({placement, window, slowest}, compute);
}

LazarusPlacements::Move LazarusPlacements::move(PlacementId from, const std::vector<bool>& is_left,
                                                std::int32_t joined, PlacementId to) const {
  GOODPUT_CHECK(static_cast<std::int32_t>(is_left.size()) == nodes(from),
                "the nodes belong to another placement");
  std::vector<std::uint64_t> key = {static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                                    static_cast<std::uint64_t>(joined)};
  key.resize(3 + (is_left.size() + 63) / 64);
  for (std::size_t place = 0; place < is_left.size(); ++place)
    key[3 + place / 64] |= std::uint64_t{is_left[place]} << place % 64;
  return moves_.at(key, [&] { return compute(from, is_left, joined, to); });
}

LazarusPlacements::Move LazarusPlacements::compute(PlacementId from, const std::vector<bool>& is_left,
                                                   std::int32_t joined, PlacementId to) const {
  ClusterPlacement held{layers(from), {}};
  std::vector<std::int32_t> live;
  for (std::int32_t place = 0; place < nodes(from); ++place) {
    held.node_ids.push_back(place);
    if (is_left[static_cast<std::size_t>(place)]) live.push_back(place);
  }
  for (std::int32_t i = 0; i < joined; ++i) live.push_back(nodes(from) + i);
  const Migration migration = migrate(held, live, layers(to), rules_.mapping, classes_);
  Move move;
  move.is_possible = migration.moves.from_checkpoint.empty();
  if (!move.is_possible) return move;
  move.node_of_place = migration.placed.node_ids;
  move.experts = migration.newly_assigned;
  move.time = migration_time(migration, expert_, timing_, dense_);
  return move;
}

}  // namespace goodput
