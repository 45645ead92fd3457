#include "models/policy/lazarus_placements.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "models/job/stage_layers.h"
#include "models/placement/gpu_slots.h"
#include "sim/base/errors.h"
#include "sim/base/index.h"

namespace goodput {
namespace {

using Loads = std::vector<std::vector<std::int64_t>>;

// Of some layers.
Loads loads_of(const JobRouting& routing, std::size_t window, const std::vector<std::size_t>& layers) {
  const auto& all = routing.loads(window);
  Loads loads;
  for (const std::size_t layer : layers) loads.push_back(all[layer]);
  return loads;
}

// Moves that are kept take some 100 MB.
std::size_t most_moves(std::int32_t nodes) {
  return 20'000'000 / static_cast<std::size_t>(std::max(100, nodes));
}

// Layers of a stage that are placed alike: in all windows, so that migrations between them are alike, too. A
// search places layers with equal loads each its own way.
LayerClasses classes_of(const JobRouting& routing, const std::vector<std::size_t>& layers,
                        PlacementRule rule) {
  if (rule == PlacementRule::kBest) return LayerClasses::distinct(layers.size());
  LayerClasses classes = LayerClasses::together(layers.size());
  for (std::size_t window = 0; window < routing.windows(); ++window)
    classes.part(loads_of(routing, window, layers));
  return classes;
}

// What a node of the stage holds besides experts: all of it, unless its GPUs are only a part of a stage.
Bytes dense_of_node(Bytes dense, double share_of_stage, const TrainingPlan& plan) {
  const std::int64_t tp = plan.parallel.tp;
  const std::int64_t of_stage = std::llround(static_cast<double>(dense.value) * share_of_stage);
  return Bytes{of_stage / tp * std::min<std::int64_t>(plan.cluster.gpus_per_node, tp)};
}

std::int32_t round_up_nodes(std::int32_t nodes, std::int32_t unit) {
  return (nodes + unit - 1) / unit * unit;
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
      unit_(job.steps().stage_unit()),
      moves_(most_moves(job.most_nodes())) {
  const TrainingPlan& plan = job.plan();
  std::vector<std::vector<std::int64_t>> kinds(job.routing().loads(0).size());
  std::int64_t kind = 0;
  for (StageLayers& layers : layers_by_stage(plan)) {
    Stage& stage = stages_.emplace_back();
    stage.classes = classes_of(job.routing(), layers.expert_layers, rules.rule);
    stage.dense = dense_of_node(dense, layers.dense_share, plan);
    for (std::size_t i = 0; i < layers.expert_layers.size(); ++i)
      kinds[layers.expert_layers[i]] = {kind + static_cast<std::int64_t>(stage.classes.of(i))};
    kind += static_cast<std::int64_t>(stage.classes.classes());
    stage.layers = std::move(layers.expert_layers);
  }
  classes_ = LayerClasses::together(kinds.size());
  classes_.part(kinds);
  in_stage_.resize(classes_.classes());
  for (std::size_t s = 0; s < stages_.size(); ++s) {
    for (std::size_t i = 0; i < stages_[s].layers.size(); ++i)
      in_stage_[classes_.of(stages_[s].layers[i])] = {s, stages_[s].classes.of(i)};
  }
}

std::int32_t LazarusPlacements::holding() const {
  const std::int32_t slots = rules_.slots_per_gpu * job_->plan().cluster.gpus_per_node;
  return (job_->plan().model.moe->experts + slots - 1) / slots;
}

std::int32_t LazarusPlacements::least_nodes() const {
  return holding() * static_cast<std::int32_t>(stages());
}

std::int32_t LazarusPlacements::narrowest(std::int32_t nodes) const {
  return nodes / unit_ / static_cast<std::int32_t>(stages()) * unit_;
}

std::int32_t LazarusPlacements::whole(std::int32_t nodes) const {
  const std::int32_t filled = std::min(nodes, job_->most_nodes()) / unit_ * unit_;
  return narrowest(filled) >= holding() ? filled : 0;
}

// As many at least as hold every expert: some then train, and count, less than they could.
std::int32_t LazarusPlacements::usable(std::int32_t nodes) const {
  const std::int32_t filled = whole(nodes);
  if (filled == 0) return 0;
  const std::int32_t train = job_->steps().usable_stage_nodes(narrowest(filled));
  if (train == 0) return 0;
  const std::int32_t used = std::max(train, round_up_nodes(holding(), unit_));
  return used < narrowest(filled) ? used * static_cast<std::int32_t>(stages()) : filled;
}

std::int32_t LazarusPlacements::least_usable() const {
  std::int32_t least = least_nodes();
  while (usable(least) == 0) ++least;
  return least;
}

std::vector<std::int32_t> LazarusPlacements::share_out(std::int32_t nodes,
                                                       const std::vector<std::int32_t>& left) const {
  GOODPUT_CHECK(left.size() == stages(), "every stage must say what it has left");
  std::vector<std::int32_t> shares(stages(), narrowest(nodes));
  const auto more = static_cast<std::ptrdiff_t>(nodes / unit_) % std::ssize(shares);
  if (more == 0) return shares;
  std::vector<std::size_t> order(stages());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, std::ranges::greater(), [&](std::size_t stage) { return left[stage]; });
  for (std::ptrdiff_t i = 0; i < more; ++i) shares[order[static_cast<std::size_t>(i)]] += unit_;
  return shares;
}

Result<LazarusPlacements::Layers> LazarusPlacements::place(const Stage& stage, PlacementId placement) const {
  Layers layers;
  if (stage.layers.empty()) return layers;
  const std::int32_t gpus = job_->plan().cluster.gpus_per_node;
  const ExpertNodes grid{nodes_of_stage(placement), rules_.slots_per_gpu * gpus, gpus};
  const PlacementChoice choice{rules_.allocation, rules_.rule, rules_.min_replicas, {}};
  const auto loads = loads_of(job_->routing(), window(placement), stage.layers);
  GOODPUT_TRY(const PlacedLayers placed, place_experts(stage.classes.one_of_each(loads), grid, choice));
  for (const PlacedLayer& layer : placed.layers)
    layers.push_back(in_order_of_gpus(layer.placement, layer.layer, gpus));
  return layers;
}

const Result<LazarusPlacements::Layers>& LazarusPlacements::placed(std::size_t stage,
                                                                   PlacementId placement) const {
  return layers_.at({static_cast<std::int64_t>(stage), placement},
                    [&] { return place(stages_[stage], placement); });
}

const LazarusPlacements::Layers& LazarusPlacements::layers(std::size_t stage, PlacementId placement) const {
  const Result<Layers>& layers = placed(stage, placement);
  GOODPUT_CHECK(layers.has_value(), layers.error().message());
  return *layers;
}

Result<StepTime> LazarusPlacements::time(PlacementId placement, std::size_t window, double slowest) const {
  StepSettings settings = settings_;
  settings.slowest_speed = slowest;
  const TimedPlan::Placing placing = {rules_.slots_per_gpu,
                                      static_cast<std::int64_t>(rules_.allocation),
                                      static_cast<std::int64_t>(rules_.rule),
                                      rules_.min_replicas,
                                      nodes_of_stage(placement),
                                      static_cast<std::int64_t>(this->window(placement))};
  const auto place = [&] {
    Layers placed;
    for (const auto& [stage, of_class] : in_stage_) placed.push_back(layers(stage, placement)[of_class]);
    return placed;
  };
  return job_->timed().flexible(placing, place, classes_, window, settings);
}

Result<StepTime> LazarusPlacements::check(std::int32_t nodes) const {
  const PlacementId first = placement(narrowest(nodes), 0);
  for (std::size_t stage = 0; stage < stages(); ++stage) {
    if (const Result<Layers>& layers = placed(stage, first); !layers) return layers.error();
  }
  return time(first, 0, 1);
}

StepTime LazarusPlacements::step(PlacementId placement, std::size_t window, double slowest) const {
  const auto compute = [&] {
    const Result<StepTime> time = this->time(placement, window, slowest);
    GOODPUT_CHECK(time.has_value(), time.error().message());
    GOODPUT_CHECK(time->step > SimDuration{}, "a step must take time");
    return *time;
  };
  if (slowest == 1) return healthy_.at({placement, static_cast<std::int64_t>(window)}, compute);
  return slow_.at({placement, window, slowest}, compute);
}

LazarusPlacements::Move LazarusPlacements::move(std::size_t stage, PlacementId from,
                                                const std::vector<bool>& is_left, std::int32_t joined,
                                                PlacementId to) const {
  GOODPUT_CHECK(static_cast<std::int32_t>(is_left.size()) == nodes_of_stage(from),
                "the nodes belong to another placement");
  std::vector<std::uint64_t> key = {stage, static_cast<std::uint64_t>(from), static_cast<std::uint64_t>(to),
                                    static_cast<std::uint64_t>(joined)};
  key.resize(4 + (is_left.size() + 63) / 64);
  for (std::size_t place = 0; place < is_left.size(); ++place)
    key[4 + place / 64] |= std::uint64_t{is_left[place]} << place % 64;
  return moves_.at(key, [&] { return compute(stage, from, is_left, joined, to); });
}

namespace {

// For a stage without experts: nodes that are left keep their order, and those that joined follow. `live`
// lists them in this order.
Migration migrate_dense(const std::vector<std::int32_t>& live, std::size_t left, std::size_t places) {
  Migration migration;
  migration.placed.node_ids.assign(live.begin(), live.begin() + static_cast<std::ptrdiff_t>(places));
  migration.traffic.resize(live.size());
  std::vector<bool> is_survivor(live.size());
  std::fill_n(is_survivor.begin(), left, true);
  std::vector<std::int32_t> placed(places);
  std::iota(placed.begin(), placed.end(), 0);
  migration.dense = plan_dense_transfers(is_survivor, placed, migration.traffic);
  return migration;
}

}  // namespace

LazarusPlacements::Move LazarusPlacements::compute(std::size_t stage, PlacementId from,
                                                   const std::vector<bool>& is_left, std::int32_t joined,
                                                   PlacementId to) const {
  const Stage& here = stages_[stage];
  ClusterPlacement held{layers(stage, from), {}};
  std::vector<std::int32_t> live;
  for (std::int32_t place = 0; place < nodes_of_stage(from); ++place) {
    held.node_ids.push_back(place);
    if (is_left[static_cast<std::size_t>(place)]) live.push_back(place);
  }
  const std::size_t left = live.size();
  for (std::int32_t i = 0; i < joined; ++i) live.push_back(nodes_of_stage(from) + i);
  Move move;
  move.is_possible = left > 0;
  if (!move.is_possible) return move;
  const Migration migration = here.layers.empty()
                                  ? migrate_dense(live, left, index(nodes_of_stage(to)))
                                  : migrate(held, live, layers(stage, to), rules_.mapping, here.classes);
  move.is_possible = migration.moves.from_checkpoint.empty();
  if (!move.is_possible) return move;
  move.node_of_place = migration.placed.node_ids;
  move.experts = migration.newly_assigned;
  move.time = migration_time(migration, expert_, timing_, here.dense);
  return move;
}

}  // namespace goodput
