#include "tests/reference/reference_lazarus.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>
#include <string>

#include "models/job/stage_layers.h"
#include "models/placement/gpu_slots.h"

namespace goodput::reference {
namespace {

struct Request {
  std::vector<std::int32_t> owners{};  // ascending
  std::pair<std::size_t, std::int32_t> expert{};
  std::int32_t receiver = 0;
};

// What a node sends and receives.
struct Traffic {
  std::int64_t experts_sent = 0;
  std::int64_t experts_received = 0;
  std::int64_t dense_sent = 0;
  std::int64_t dense_received = 0;
};

// The node of each place. Cheapest pairs choose first, of equal ones the lowest node, then the lowest place.
std::vector<std::int32_t> map_greedily(const std::map<std::int32_t, LazarusJob::Experts>& held,
                                       const std::vector<LazarusJob::Experts>& places) {
  std::vector<std::tuple<std::int64_t, std::int32_t, std::int32_t>> pairs;
  for (const auto& [node, experts] : held) {
    for (std::size_t place = 0; place < places.size(); ++place) {
      std::int64_t missing = 0;
      for (const auto& expert : places[place]) missing += experts.count(expert) == 0 ? 1 : 0;
      pairs.emplace_back(missing, node, static_cast<std::int32_t>(place));
    }
  }
  std::sort(pairs.begin(), pairs.end());
  std::vector<std::int32_t> node_of_place(places.size(), -1);
  std::set<std::int32_t> has_place;
  for (const auto& [missing, node, place] : pairs) {
    std::int32_t& node_of = node_of_place[static_cast<std::size_t>(place)];
    if (node_of >= 0 || has_place.count(node) > 0) continue;
    node_of = node;
    has_place.insert(node);
  }
  return node_of_place;
}

// Every node fetches what its place has and it does not hold. Adds to `traffic`.
void fetch_experts(const std::map<std::int32_t, LazarusJob::Experts>& held,
                   const std::vector<LazarusJob::Experts>& places,
                   const std::vector<std::int32_t>& node_of_place, std::map<std::int32_t, Traffic>& traffic) {
  std::vector<Request> requests;
  for (std::size_t place = 0; place < places.size(); ++place) {
    const std::int32_t receiver = node_of_place[place];
    for (const auto& expert : places[place]) {
      if (held.at(receiver).count(expert) > 0) continue;
      Request request{{}, expert, receiver};
      for (const auto& [node, experts] : held) {
        if (experts.count(expert) > 0) request.owners.push_back(node);
      }
      requests.push_back(request);
    }
  }
  std::sort(requests.begin(), requests.end(), [](const Request& a, const Request& b) {
    return std::tuple(a.owners.size(), a.expert, a.receiver) <
           std::tuple(b.owners.size(), b.expert, b.receiver);
  });
  for (const Request& request : requests) {
    std::int32_t sender = request.owners.at(0);
    for (const std::int32_t owner : request.owners) {
      if (traffic[owner].experts_sent < traffic[sender].experts_sent) sender = owner;
    }
    ++traffic[sender].experts_sent;
    ++traffic[request.receiver].experts_received;
  }
}

// Nodes that were there before take turns in sending, those with the fewest experts to send first.
void fetch_dense_state(std::int32_t old_places, std::int32_t joined,
                       const std::map<std::int32_t, LazarusJob::Experts>& held,
                       std::map<std::int32_t, Traffic>& traffic) {
  std::vector<std::pair<std::int64_t, std::int32_t>> senders;
  for (const auto& [node, experts] : held) {
    if (node < old_places) senders.emplace_back(traffic[node].experts_sent, node);
  }
  std::sort(senders.begin(), senders.end());
  for (std::int32_t n = 0; n < joined; ++n) {
    const auto turn = static_cast<std::size_t>(n) % senders.size();
    ++traffic[senders[turn].second].dense_sent;
    ++traffic[old_places + n].dense_received;
  }
}

}  // namespace

// ---- What a job can do on its nodes.

LazarusJob::LazarusJob(const JobModel& job, const LazarusTerms& terms) : job_(job), terms_(terms) {
  const TrainingPlan& plan = job.plan();
  const std::int32_t gpus = plan.cluster.gpus_per_node;
  unit_ = std::lcm(plan.parallel.tp * plan.parallel.cp, gpus) / gpus;
  const ModuleBytes bytes = module_bytes(job.modules(), plan.parallel.saved_bytes());
  expert_ = bytes.expert_each.at(0);
  checkpoint_ = bytes.total();
  for (const StageLayers& layers : layers_by_stage(plan)) {
    const std::int64_t of_stage =
        std::llround(static_cast<double>(bytes.dense_total().value) * layers.dense_share);
    const std::int32_t tp = plan.parallel.tp;  // a GPU holds a part of the stage
    stages_.push_back({layers.expert_layers, Bytes{of_stage / tp * std::min(gpus, tp)}});
  }
}

bool LazarusJob::holds_every_expert(std::int32_t nodes_of_stage) const {
  const TrainingPlan& plan = job_.plan();
  return std::int64_t{nodes_of_stage} * plan.cluster.gpus_per_node * terms_.slots_per_gpu >=
         plan.model.moe->experts;
}

std::int64_t LazarusJob::micro_batches(std::int32_t nodes_of_stage) const {
  const TrainingPlan& plan = job_.plan();
  return job_.steps().batch().micro_batches(nodes_of_stage * plan.cluster.gpus_per_node /
                                            (plan.parallel.tp * plan.parallel.cp));
}

std::int32_t LazarusJob::narrowest(std::int32_t used) const {
  const auto stages = static_cast<std::int32_t>(stages_.size());
  return used / unit_ / stages * unit_;
}

std::int32_t LazarusJob::used(std::int32_t nodes) const {
  const std::int32_t units = std::min(nodes, job_.most_nodes()) / unit_;
  const std::int32_t narrow = narrowest(units * unit_);
  if (narrow == 0 || !holds_every_expert(narrow)) return 0;
  std::int32_t hold = unit_;
  while (!holds_every_expert(hold)) hold += unit_;
  std::int32_t train = narrow;
  if (job_.steps().batch().rule() == BatchRule::kFixed) {
    train = unit_;
    while (micro_batches(train) > micro_batches(narrow)) train += unit_;
  }
  const std::int32_t enough = std::max(train, hold);
  return enough < narrow ? enough * static_cast<std::int32_t>(stages_.size()) : units * unit_;
}

std::vector<std::int32_t> LazarusJob::shares(std::int32_t used, const std::vector<std::int32_t>& left) const {
  std::vector<std::int32_t> shares(stages_.size(), narrowest(used));
  std::set<std::size_t> has_more;
  for (std::int32_t shared = narrowest(used) * static_cast<std::int32_t>(stages_.size()); shared < used;
       shared += unit_) {
    std::size_t most = stages_.size();
    for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
      if (has_more.count(stage) > 0) continue;
      if (most == stages_.size() || left[stage] > left[most]) most = stage;
    }
    shares[most] += unit_;
    has_more.insert(most);
  }
  return shares;
}

std::vector<PlacedLayer> LazarusJob::place(std::size_t stage, std::int32_t nodes, std::size_t window) const {
  if (stages_[stage].layers.empty()) return {};
  const std::int32_t gpus = job_.plan().cluster.gpus_per_node;
  std::vector<std::vector<std::int64_t>> loads;
  for (const std::size_t layer : stages_[stage].layers) loads.push_back(job_.routing().loads(window)[layer]);
  const auto placed = place_experts(loads, {nodes, terms_.slots_per_gpu * gpus, gpus}, terms_.placement);
  if (!placed) throw std::runtime_error(placed.error().message());
  return placed->layers;
}

std::vector<LazarusJob::Experts> LazarusJob::experts_of_places(std::size_t stage, std::int32_t nodes,
                                                               std::size_t window) const {
  std::vector<Experts> places(static_cast<std::size_t>(nodes));
  const std::vector<PlacedLayer> layers = place(stage, nodes, window);
  for (std::size_t layer = 0; layer < layers.size(); ++layer) {
    for (std::int32_t place = 0; place < nodes; ++place) {
      for (const std::int32_t expert : layers[layer].placement.node(place))
        places[static_cast<std::size_t>(place)].insert({layer, expert});
    }
  }
  return places;
}

StepTime LazarusJob::step(std::int32_t nodes_of_stage, std::size_t placed_for, std::size_t window,
                          double slowest) const {
  const auto known = steps_.find({nodes_of_stage, placed_for, window, slowest});
  if (known != steps_.end()) return known->second;
  std::vector<ExpertPlacement> by_layer(static_cast<std::size_t>(job_.steps().moe_layers()));
  for (std::size_t stage = 0; stage < stages_.size(); ++stage) {
    const std::vector<PlacedLayer> here = place(stage, nodes_of_stage, placed_for);
    for (std::size_t i = 0; i < here.size(); ++i) {
      by_layer[stages_[stage].layers[i]] =
          in_order_of_gpus(here[i].placement, here[i].layer, job_.plan().cluster.gpus_per_node);
    }
  }
  const auto step = job_.steps().flexible(by_layer, job_.routing().loads(window),
                                          {.step_overhead = terms_.step_overhead, .slowest_speed = slowest});
  if (!step) throw std::runtime_error(step.error().message());
  steps_[{nodes_of_stage, placed_for, window, slowest}] = *step;
  return *step;
}

// ---- Who is left.

std::int64_t ReferenceLazarus::life_of(NodeId node) const {
  const auto found = losses_.find(node);
  return found == losses_.end() ? 0 : found->second;
}

std::int32_t ReferenceLazarus::count_left(const Stage& stage) const {
  std::int32_t left = 0;
  for (const Holder& holder : stage) left += is_left(holder) ? 1 : 0;
  return left;
}

bool ReferenceLazarus::could_grow(const JobView& job) const {
  return nodes_.narrowest(nodes_.used(job.members->count())) >
         nodes_.narrowest(static_cast<std::int32_t>(team_nodes_.size()));
}

// Whether every expert is held by a node that is left, and every stage has such a node.
bool ReferenceLazarus::is_every_expert_held() const {
  if (held_.stages.empty()) return false;
  for (std::size_t stage = 0; stage < held_.stages.size(); ++stage) {
    const Stage& holders = held_.stages[stage];
    if (count_left(holders) == 0) return false;
    const auto places =
        nodes_.experts_of_places(stage, static_cast<std::int32_t>(holders.size()), held_.window);
    LazarusJob::Experts all;
    LazarusJob::Experts left;
    for (std::size_t place = 0; place < places.size(); ++place) {
      all.insert(places[place].begin(), places[place].end());
      if (is_left(holders[place])) left.insert(places[place].begin(), places[place].end());
    }
    if (left != all) return false;
  }
  return true;
}

// ---- How stages move.

ReferenceLazarus::StageMove ReferenceLazarus::move_stage(std::size_t stage, const std::vector<Holder>& joined,
                                                         std::int32_t share, std::size_t window) const {
  const Stage& holders = held_.stages[stage];
  const auto old_places = static_cast<std::int32_t>(holders.size());
  const std::vector<LazarusJob::Experts> old = nodes_.experts_of_places(stage, old_places, held_.window);
  std::map<std::int32_t, LazarusJob::Experts> held;
  for (std::int32_t place = 0; place < old_places; ++place) {
    const auto p = static_cast<std::size_t>(place);
    if (is_left(holders[p])) held[place] = old[p];
  }
  for (std::size_t n = 0; n < joined.size(); ++n) held[old_places + static_cast<std::int32_t>(n)] = {};
  const auto node = [&](std::int32_t number) {
    return number < old_places ? holders[static_cast<std::size_t>(number)]
                               : joined[static_cast<std::size_t>(number - old_places)];
  };
  const std::vector<LazarusJob::Experts> places = nodes_.experts_of_places(stage, share, window);
  const std::vector<std::int32_t> node_of_place = map_greedily(held, places);
  std::map<std::int32_t, Traffic> traffic;
  fetch_experts(held, places, node_of_place, traffic);
  Bytes dense{};
  if (terms_.migration.dense_state) {
    dense = nodes_.stages()[stage].dense;
    fetch_dense_state(old_places, static_cast<std::int32_t>(joined.size()), held, traffic);
  }
  StageMove move;
  for (const std::int32_t number : node_of_place) move.stage.push_back(node(number));
  for (const auto& [number, experts] : held) {
    if (std::find(node_of_place.begin(), node_of_place.end(), number) == node_of_place.end())
      move.free.push_back(node(number));
  }
  Bytes busiest{};
  for (const auto& [number, one] : traffic) {
    move.experts += one.experts_received;
    busiest = std::max(busiest, one.experts_sent * nodes_.expert() + one.dense_sent * dense);
    busiest = std::max(busiest, one.experts_received * nodes_.expert() + one.dense_received * dense);
  }
  if (busiest.value > 0)
    move.transfer = terms_.migration.moves.transfer_setup + busiest / terms_.migration.moves.node;
  return move;
}

// Stages with enough nodes move first. Those with too few get the nodes left over, and others that are there.
ReferenceLazarus::Moves ReferenceLazarus::move(std::int32_t used, const Membership& members,
                                               std::size_t window) const {
  std::vector<std::int32_t> left;
  std::set<NodeId> holding;
  for (const Stage& stage : held_.stages) {
    left.push_back(count_left(stage));
    for (const Holder& holder : stage) {
      if (is_left(holder)) holding.insert(holder.node);
    }
  }
  const std::vector<std::int32_t> shares = nodes_.shares(used, left);
  std::map<NodeId, Holder> free;
  for (const NodeId node : members.nodes()) {
    if (holding.count(node) > 0) continue;
    if (static_cast<std::int32_t>(holding.size() + free.size()) < used) free[node] = {node, life_of(node)};
  }
  Moves moves;
  moves.team.window = window;
  moves.team.stages.resize(shares.size());
  const auto take = [&](std::size_t stage, const StageMove& move) {
    moves.team.stages[stage] = move.stage;
    moves.experts += move.experts;
    moves.transfer = std::max(moves.transfer, move.transfer);
  };
  for (std::size_t stage = 0; stage < shares.size(); ++stage) {
    if (left[stage] < shares[stage]) continue;
    const StageMove move = move_stage(stage, {}, shares[stage], window);
    take(stage, move);
    for (const Holder& holder : move.free) free[holder.node] = holder;
  }
  for (std::size_t stage = 0; stage < shares.size(); ++stage) {
    if (left[stage] >= shares[stage]) continue;
    std::vector<Holder> joined;
    while (left[stage] + static_cast<std::int32_t>(joined.size()) < shares[stage]) {
      joined.push_back(free.begin()->second);
      free.erase(free.begin());
    }
    take(stage, move_stage(stage, joined, shares[stage], window));
  }
  return moves;
}

// ---- What happens.

Response ReferenceLazarus::on_change(const JobView& job, const NodeChange& change) {
  for (const NodeId node : change.lost) ++losses_[node];
  if (is_waiting_) return nodes_.used(job.members->count()) > 0 ? Response::kInterrupt : Response::kIgnore;
  for (const Stage& stage : team_.stages) {
    if (count_left(stage) == static_cast<std::int32_t>(stage.size())) continue;
    lost_at_ = job.now;
    return Response::kInterrupt;
  }
  // An idle node whose speed changes counts as one that joins.
  bool has_joined = !change.joined.empty();
  bool is_slowed = false;
  for (const NodeId node : change.changed_speed) {
    const bool trains = std::find(team_nodes_.begin(), team_nodes_.end(), node) != team_nodes_.end();
    (trains ? is_slowed : has_joined) = true;
  }
  if (has_joined && gathered_at_ == kNoTime) gathered_at_ = job.now + terms_.gather;
  return is_slowed ? Response::kAtStepEnd : Response::kIgnore;
}

Response ReferenceLazarus::on_wake(const JobView& job) {
  gathered_at_ = kNoTime;
  if (!could_grow(job)) return Response::kIgnore;
  grows_ = true;
  return Response::kAtStepEnd;
}

Course ReferenceLazarus::decide(const JobState& job) {
  if (!job.was_interrupted) held_ = team_;
  const bool grows = grows_ && could_grow(job);
  grows_ = false;
  if (nodes_.used(job.members->count()) == 0) return wait();
  if (!is_every_expert_held()) return restart(job);
  if (lost_at_ || grows) return reconfigure(job, lost_at_.has_value());
  if (terms_.rebalance_steps > 0 && job.step % terms_.rebalance_steps == 0) {
    const auto now = job_.routing().loads(job_.routing().window_at(job.step));
    const auto then = job_.routing().loads(team_.window);
    if (!std::equal(now.begin(), now.end(), then.begin(), then.end())) return rebalance(job);
  }
  return train(Cause::kNone, ResumeFrom::kHere, {}, job);
}

Course ReferenceLazarus::wait() {
  std::int32_t needed = 1;
  while (nodes_.used(needed) == 0) ++needed;
  Course course;
  course.kind = Course::Kind::kWait;
  course.from = ResumeFrom::kStorage;
  course.reason = "needs " + std::to_string(needed) + " nodes";
  team_ = held_ = {};
  team_nodes_.clear();
  is_waiting_ = true;
  gathered_at_ = kNoTime;
  return course;
}

Course ReferenceLazarus::restart(const JobState& job) {
  Phases phases;
  if (!has_begun_) {
    if (job_.start() == JobStart::kCold) phases.add(TimeBucket::kProgramStartup, terms_.startup);
  } else {
    if (lost_at_)
      phases.add(TimeBucket::kInfrastructureRecovery, *lost_at_ + terms_.restart_detect - job.now);
    phases.add(TimeBucket::kProgramStartup, terms_.startup);
    phases.add(TimeBucket::kCheckpointRestore, nodes_.checkpoint() / terms_.read);
  }
  const std::int64_t step = job.step_from(ResumeFrom::kStorage);
  const std::int32_t used = nodes_.used(job.members->count());
  held_ = {};
  team_ = {};
  team_.window = job_.routing().window_at(step);
  auto next = job.members->nodes().begin();
  const std::vector<std::int32_t> nobody(nodes_.stages().size(), 0);
  for (const std::int32_t share : nodes_.shares(used, nobody)) {
    Stage& stage = team_.stages.emplace_back();
    for (std::int32_t n = 0; n < share; ++n, ++next) stage.push_back({*next, life_of(*next)});
  }
  const Cause cause = has_begun_ ? Cause::kRestart : Cause::kStart;
  has_begun_ = true;
  is_waiting_ = false;
  gathered_at_ = kNoTime;
  return train(cause, ResumeFrom::kStorage, phases, job);
}

Course ReferenceLazarus::reconfigure(const JobState& job, bool has_lost) {
  const Moves moves =
      move(nodes_.used(job.members->count()), *job.members, job_.routing().window_at(job.step));
  const ReconfigurationTimes times = draws_.next(terms_.migration, has_lost);
  Phases phases;
  if (has_lost) phases.add(TimeBucket::kInfrastructureRecovery, times.detect);
  phases.add(has_lost ? TimeBucket::kElasticSliceDown : TimeBucket::kElasticScaleUp,
             times.regroup + terms_.migration.moves.plan);
  phases.add(TimeBucket::kElasticReinitialization, moves.transfer);
  SimDuration all{};
  for (const Phase& phase : phases.all()) all += phase.duration;
  if (has_lost) longest_reconfiguration_ = std::max(longest_reconfiguration_, all);
  experts_moved_ += moves.experts;
  most_experts_moved_ = std::max(most_experts_moved_, moves.experts);
  team_ = moves.team;
  gathered_at_ = kNoTime;
  return train(has_lost ? Cause::kReconfiguration : Cause::kScaleUp, ResumeFrom::kHere, phases, job);
}

Course ReferenceLazarus::rebalance(const JobState& job) {
  const Moves moves =
      move(static_cast<std::int32_t>(team_nodes_.size()), *job.members, job_.routing().window_at(job.step));
  team_ = moves.team;
  // Every place already holds the experts of the new placement.
  if (moves.experts == 0) return train(Cause::kNone, ResumeFrom::kHere, {}, job);
  const SimDuration time = terms_.migration.moves.plan + moves.transfer;
  Phases phases;
  phases.add(TimeBucket::kExpertRebalancing, time);
  longest_rebalancing_ = std::max(longest_rebalancing_, time);
  experts_moved_ += moves.experts;
  most_experts_moved_ = std::max(most_experts_moved_, moves.experts);
  return train(Cause::kRebalancing, ResumeFrom::kHere, phases, job);
}

Course ReferenceLazarus::train(Cause cause, ResumeFrom from, const Phases& phases, const JobState& job) {
  lost_at_.reset();
  team_nodes_.clear();
  for (const Stage& stage : team_.stages) {
    for (const Holder& holder : stage) team_nodes_.push_back(holder.node);
  }
  std::sort(team_nodes_.begin(), team_nodes_.end());
  slowest_ = job.members->slowest(team_nodes_);
  const std::int64_t step = job.step_from(from);
  const auto used = static_cast<std::int32_t>(team_nodes_.size());
  const StepTime time =
      nodes_.step(nodes_.narrowest(used), team_.window, job_.routing().window_at(step), slowest_);
  Course course;
  course.cause = cause;
  course.from = from;
  course.phases = phases;
  course.nodes = team_nodes_;
  course.samples_per_step = time.samples;
  course.checkpoints = checkpoints(time, used);
  if (terms_.rebalance_steps > 0)
    course.decide_at_step = (step / terms_.rebalance_steps + 1) * terms_.rebalance_steps;
  return course;
}

Pace ReferenceLazarus::pace(std::int64_t step) {
  const std::int32_t narrow = nodes_.narrowest(static_cast<std::int32_t>(team_nodes_.size()));
  return {nodes_.step(narrow, team_.window, job_.routing().window_at(step), slowest_).step,
          job_.routing().window_end(step)};
}

CheckpointRules ReferenceLazarus::checkpoints(const StepTime& step, std::int64_t nodes) const {
  const SimDuration persist = nodes_.checkpoint() / terms_.write;
  CheckpointRules rules;
  CheckpointRule& storage = rules[1];
  storage.interval = terms_.interval;
  storage.bytes = nodes_.checkpoint();
  storage.stall = persist;
  SimDuration stands_still = persist;
  if (terms_.saves_beside_training) {
    const SimDuration snapshot = Bytes{nodes_.checkpoint().value / nodes} / terms_.snapshot;
    storage.stall = std::max(SimDuration{}, snapshot - step.forward_backward);
    storage.lag = snapshot + persist - storage.stall;
    stands_still = {};
  }
  // Storage finishes one checkpoint before the next, and is busy for at most its share of the time.
  while (storage.interval > 0 && storage.interval * step.step + stands_still < persist * terms_.storage_share)
    ++storage.interval;
  return rules;
}

std::vector<PolicyMetric> ReferenceLazarus::metrics(std::int64_t /*steps*/) const {
  return {{"experts_moved", static_cast<double>(experts_moved_)},
          {"most_experts_moved", static_cast<double>(most_experts_moved_)},
          {"longest_reconfiguration_s", to_seconds(longest_reconfiguration_)},
          {"longest_rebalancing_s", to_seconds(longest_rebalancing_)}};
}

}  // namespace goodput::reference
