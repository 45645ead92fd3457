#include "tests/reference/reference_restarts.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace goodput::reference {
namespace {

std::int64_t round_up_to(std::int64_t value, std::int64_t multiple) {
  while (value % multiple != 0) ++value;
  return value;
}

}  // namespace

// ---- Which nodes train.

std::int64_t ReferenceRestarts::life_of(NodeId node) const {
  const auto found = losses_.find(node);
  return found == losses_.end() ? 0 : found->second;
}

// Of so many nodes that are there; 0: the job waits.
std::int32_t ReferenceRestarts::train_on(std::int32_t nodes) const {
  if (rules_.fixed_nodes) return nodes >= *rules_.fixed_nodes ? *rules_.fixed_nodes : 0;
  std::int32_t whole = std::min(nodes, rules_.max_training_nodes);
  while (whole % rules_.nodes_of_unit != 0) --whole;
  if (whole == 0 || rules_.micro_batches.empty()) return whole;
  // The fewest whose replicas have no more micro-batches.
  std::int32_t fewest = whole;
  for (std::int32_t fewer = whole; fewer > 0; fewer -= rules_.nodes_of_unit) {
    if (rules_.micro_batches.at(fewer) == rules_.micro_batches.at(whole)) fewest = fewer;
  }
  return fewest;
}

bool ReferenceRestarts::could_grow(const JobView& job) const {
  return rules_.gather && train_on(job.members->count()) > static_cast<std::int32_t>(team_.size());
}

std::vector<NodeId> ReferenceRestarts::survivors(const JobView& job) const {
  std::vector<NodeId> nodes;
  for (const Member& member : team_) {
    if (job.members->contains(member.node) && member.life == life_of(member.node))
      nodes.push_back(member.node);
  }
  return nodes;
}

// Survivors first, then others; both by id.
std::vector<NodeId> ReferenceRestarts::take(const JobView& job, std::int32_t count) const {
  std::vector<NodeId> order = survivors(job);
  const std::set<NodeId> first(order.begin(), order.end());
  for (const NodeId node : job.members->nodes()) {
    if (first.count(node) == 0) order.push_back(node);
  }
  order.resize(static_cast<std::size_t>(count));
  std::sort(order.begin(), order.end());
  return order;
}

void ReferenceRestarts::form_team(const std::vector<NodeId>& nodes) {
  team_.clear();
  for (const NodeId node : nodes) {
    const auto position = static_cast<std::int32_t>(team_.size());
    team_.push_back({node, life_of(node), position % rules_.nodes_of_unit});
  }
}

// ---- What happens to them.

Response ReferenceRestarts::on_change(const JobView& job, const NodeChange& change) {
  if (!change.lost.empty() && job.is_training) fill_places();
  for (const NodeId node : change.lost) ++losses_[node];
  if (is_waiting_) return train_on(job.members->count()) > 0 ? Response::kInterrupt : Response::kIgnore;
  for (const Member& member : team_) {
    if (member.life == life_of(member.node)) continue;
    lost_at_ = job.now;
    return Response::kInterrupt;
  }
  if (!change.joined.empty() && rules_.gather && gathered_at_ == kNoTime)
    gathered_at_ = job.now + *rules_.gather;
  return Response::kIgnore;
}

Response ReferenceRestarts::on_wake(const JobView& job) {
  gathered_at_ = kNoTime;
  if (!could_grow(job)) return Response::kIgnore;
  grows_ = true;
  return Response::kAtStepEnd;
}

Course ReferenceRestarts::decide(const JobState& job) {
  if (!job.was_interrupted) has_state_ = has_begun_ && !is_waiting_;
  if (!has_state_ || job.was_interrupted) return restart(job);
  if (!lost_at_) fill_places();
  const bool grows = grows_ && could_grow(job);
  grows_ = false;
  if (!lost_at_ && !grows) return train(Cause::kNone, ResumeFrom::kHere, {});
  const bool was_whole = survivors(job).size() == team_.size();
  const std::optional<Phases> phases = regroup(job, was_whole);
  if (!phases) return restart(job);
  lost_at_.reset();
  if (could_grow(job) && gathered_at_ == kNoTime) gathered_at_ = job.now + *rules_.gather;
  return train(was_whole ? Cause::kScaleUp : Cause::kReconfiguration, ResumeFrom::kHere, *phases);
}

Course ReferenceRestarts::wait() {
  Course course;
  course.kind = Course::Kind::kWait;
  course.from = newest_checkpoint();
  std::int32_t needed = 1;
  while (train_on(needed) == 0) ++needed;
  course.reason = "needs " + std::to_string(needed) + " nodes";
  team_.clear();
  is_waiting_ = true;
  has_state_ = grows_ = false;
  gathered_at_ = kNoTime;
  return course;
}

Course ReferenceRestarts::restart(const JobState& job) {
  const std::int32_t count = train_on(job.members->count());
  if (count == 0) return wait();
  const std::vector<NodeId> kept = survivors(job);
  const bool is_planned = has_begun_ && !lost_at_ && !is_waiting_ && !job.was_interrupted;
  const ResumeFrom from = is_planned ? ResumeFrom::kHere : newest_checkpoint();
  const auto writers = static_cast<std::int32_t>(team_.size());
  const std::vector<NodeId> nodes = take(job, count);
  Phases phases;
  if (!has_begun_) {
    if (rules_.starts_cold) phases.add(TimeBucket::kProgramStartup, rules_.startup);
  } else {
    if (lost_at_) phases.add(TimeBucket::kInfrastructureRecovery, *lost_at_ + rules_.detect - job.now);
    if (is_planned)
      phases.add(TimeBucket::kCheckpointSave, whole_save(writers).snapshot + whole_save(writers).persist);
    const bool has_others = std::any_of(nodes.begin(), nodes.end(), [&](NodeId node) {
      return std::find(kept.begin(), kept.end(), node) == kept.end();
    });
    const bool stays_up = rules_.swap && !is_waiting_ && (rules_.has_hot_spares || !has_others);
    phases.add(stays_up ? TimeBucket::kElasticReinitialization : TimeBucket::kProgramStartup,
               stays_up ? *rules_.swap : rules_.startup);
    const bool is_partial =
        from == ResumeFrom::kStorage && !rules_.partial_saves.empty() && job.step_from(from) > 0;
    phases.add(TimeBucket::kCheckpointRestore,
               is_partial ? restore_time_of_parts() : restore_time(from, count));
  }
  const Cause cause = has_begun_ ? Cause::kRestart : Cause::kStart;
  form_team(nodes);
  has_begun_ = true;
  is_waiting_ = has_state_ = grows_ = false;
  lost_at_.reset();
  gathered_at_ = kNoTime;
  Course course = train(cause, from, phases);
  course.saves = is_planned;
  if (is_planned) course.saved_bytes = rules_.bytes;
  return course;
}

Course ReferenceRestarts::train(Cause cause, ResumeFrom from, const Phases& phases) {
  nodes_.clear();
  for (const Member& member : team_) nodes_.push_back(member.node);
  move_places();
  const auto count = static_cast<std::int32_t>(team_.size());
  const StepTime& step = rules_.steps.at(count);
  Course course;
  course.cause = cause;
  course.from = from;
  course.phases = phases;
  course.nodes = nodes_;
  course.samples_per_step = step.samples;
  course.checkpoints = checkpoints(step, count);
  return course;
}

Pace ReferenceRestarts::pace(std::int64_t /*step*/) {
  return {rules_.steps.at(static_cast<std::int32_t>(team_.size())).step};
}

// ---- Groups that form anew.

// None: some shard of the experts is lost, or nothing is gained.
std::optional<Phases> ReferenceRestarts::regroup(const JobState& job, bool grows) {
  if (!rules_.regroups) return std::nullopt;
  const std::vector<NodeId> left = survivors(job);
  std::vector<std::vector<NodeId>> holders(static_cast<std::size_t>(rules_.nodes_of_unit));
  for (const Member& member : team_) {
    if (std::find(left.begin(), left.end(), member.node) != left.end())
      holders[static_cast<std::size_t>(member.shard)].push_back(member.node);
  }
  for (const std::vector<NodeId>& nodes : holders) {
    if (nodes.empty()) return std::nullopt;
  }
  std::vector<NodeId> free;  // the last one gets a shard first
  for (const NodeId node : job.members->nodes()) {
    if (rules_.gather && std::find(left.begin(), left.end(), node) == left.end()) free.push_back(node);
  }
  const std::int32_t count = train_on(static_cast<std::int32_t>(left.size() + free.size()));
  if (count == 0 || (grows && count <= static_cast<std::int32_t>(team_.size()))) return std::nullopt;
  const auto groups = static_cast<std::size_t>(count / rules_.nodes_of_unit);
  for (std::vector<NodeId>& nodes : holders) {
    while (nodes.size() > groups) {
      free.push_back(nodes.back());
      nodes.pop_back();
    }
  }
  team_.clear();
  std::size_t rounds = 0;  // in each, every holder of a shard sends it to one node
  for (std::size_t shard = 0; shard < holders.size(); ++shard) {
    std::size_t sent = 0;
    const std::size_t senders = holders[shard].size();
    while (holders[shard].size() < groups) {
      holders[shard].push_back(free.back());
      free.pop_back();
      ++sent;
    }
    std::size_t of_shard = 0;
    while (of_shard * senders < sent) ++of_shard;
    rounds = std::max(rounds, of_shard);
    for (const NodeId node : holders[shard])
      team_.push_back({node, life_of(node), static_cast<std::int32_t>(shard)});
  }
  std::sort(team_.begin(), team_.end(), [](const Member& a, const Member& b) { return a.node < b.node; });
  Phases phases;
  if (lost_at_) phases.add(TimeBucket::kInfrastructureRecovery, rules_.regroup_detect);
  phases.add(grows ? TimeBucket::kElasticScaleUp : TimeBucket::kElasticSliceDown, rules_.regroup);
  if (rounds > 0) {
    const Bytes sent{rules_.shard.value * static_cast<std::int64_t>(rounds)};
    phases.add(TimeBucket::kElasticReinitialization, rules_.transfer_setup + sent / rules_.send);
  }
  return phases;
}

// ---- Checkpoints.

// The team trained, so that every node holds the parts of its place.
void ReferenceRestarts::fill_places() {
  holders_ = team_;
  for (Place& place : places_) place = {place.node, life_of(place.node), true};
}

// A node that stays in the team keeps its place, and the highest of the new nodes gets the first free place.
// With another number of nodes every node gets another part of the state, and none holds its part yet.
void ReferenceRestarts::move_places() {
  if (places_.size() != team_.size()) {
    const bool is_first = places_.empty();
    places_.clear();
    for (const Member& member : team_) places_.push_back({member.node, member.life, is_first});
    return;
  }
  std::vector<NodeId> others;
  for (const NodeId node : nodes_) {
    const bool has_place = std::any_of(places_.begin(), places_.end(),
                                       [node](const Place& place) { return place.node == node; });
    if (!has_place) others.push_back(node);
  }
  for (Place& place : places_) {
    if (std::find(nodes_.begin(), nodes_.end(), place.node) != nodes_.end()) continue;
    place = {others.back(), life_of(others.back()), false};
    others.pop_back();
  }
}

bool ReferenceRestarts::is_intact(const Place& place) const {
  return place.is_filled && place.life == life_of(place.node);
}

// In memory, if of every place the node itself or one of those behind it in the group is intact. Groups have
// `replicas` places; the last one also has those left over.
ResumeFrom ReferenceRestarts::newest_checkpoint() const {
  if (rules_.replicas == 0) return ResumeFrom::kStorage;
  const auto replicas = static_cast<std::size_t>(rules_.replicas);
  const std::size_t groups = std::max<std::size_t>(1, places_.size() / replicas);
  for (std::size_t place = 0; place < places_.size(); ++place) {
    const std::size_t group = std::min(place / replicas, groups - 1);
    const std::size_t first = group * replicas;
    const std::size_t size = group + 1 == groups ? places_.size() - first : replicas;
    bool is_somewhere = false;
    for (std::size_t copy = 0; copy < std::min(replicas, size); ++copy)
      is_somewhere = is_somewhere || is_intact(places_[first + (place - first + copy) % size]);
    if (!is_somewhere) return ResumeFrom::kStorage;
  }
  return ResumeFrom::kMemory;
}

SaveOnNodes ReferenceRestarts::whole_save(std::int32_t nodes) const {
  SaveOnNodes save{{}, rules_.bytes / rules_.write, rules_.bytes};
  if (rules_.saves_beside_training) save.snapshot = Bytes{rules_.bytes.value / nodes} / rules_.snapshot;
  return save;
}

SimDuration ReferenceRestarts::restore_time(ResumeFrom from, std::int32_t nodes) const {
  if (from == ResumeFrom::kMemory) return Bytes{rules_.bytes.value / nodes} / rules_.fetch;
  return rules_.bytes / rules_.read;
}

// Nodes that are still there, in the same life, read their experts from memory; the experts of the others,
// and if there are others all else, come from storage.
SimDuration ReferenceRestarts::restore_time_of_parts() const {
  if (holders_.empty()) return rules_.bytes / rules_.read;
  const auto nodes = static_cast<std::int64_t>(holders_.size());
  const CheckpointParts& parts = rules_.parts;
  Bytes storage;
  Bytes memory;  // of the node that reads most
  for (std::int64_t node = 0; node < nodes; ++node) {
    Bytes experts;
    for (std::int64_t expert = 0; expert < parts.experts; ++expert) {
      if (expert * nodes / parts.experts == node) experts = experts + parts.expert;
    }
    const Member& holder = holders_[static_cast<std::size_t>(node)];
    if (holder.life == life_of(holder.node)) {
      memory = std::max(memory, experts);
    } else {
      storage = storage + experts;
    }
  }
  const bool is_anyone_lost = std::any_of(holders_.begin(), holders_.end(), [this](const Member& holder) {
    return holder.life != life_of(holder.node);
  });
  if (is_anyone_lost) {
    storage = storage + parts.others;
  } else {
    memory = memory + Bytes{(parts.others.value + nodes - 1) / nodes};
  }
  return std::max(storage / rules_.read, memory / rules_.snapshot);
}

CheckpointRules ReferenceRestarts::checkpoints(const StepTime& step, std::int32_t nodes) const {
  const SaveOnNodes save = rules_.partial_saves.empty() ? whole_save(nodes) : rules_.partial_saves.at(nodes);
  CheckpointRules rules;
  CheckpointRule& storage = rules[1];
  storage.interval = rules_.interval;
  storage.bytes = save.bytes;
  storage.stall = save.snapshot + save.persist;
  SimDuration stands_still = storage.stall;
  if (rules_.saves_beside_training) {
    storage.stall = std::max(SimDuration{}, save.snapshot - step.forward_backward);
    storage.lag = save.snapshot + save.persist - storage.stall;
    stands_still = {};
  }
  // Storage finishes one checkpoint before the next, and is busy for no more than its share of the time.
  const SimDuration apart = save.persist * std::llround(1 / rules_.storage_duty);
  while (storage.interval > 0 && storage.interval * step.step + stands_still < apart) ++storage.interval;
  if (rules_.replicas > 0) {
    rules[0] = {rules_.memory_interval, rules_.memory_stall, {}};
    storage.interval = round_up_to(storage.interval, rules_.memory_interval);
  }
  return rules;
}

}  // namespace goodput::reference
