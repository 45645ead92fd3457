#include "models/policy/memory_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace goodput {
namespace {

// The least multiple of `every` from `interval` on.
std::int64_t at_nth(std::int64_t interval, std::int64_t every) {
  return (interval + every - 1) / every * every;
}

}  // namespace

config::Fields memory_fields(MemorySettings& settings, MemoryUse use, const std::function<bool()>& evicts) {
  using config::Need;
  const bool is_sure = use == MemoryUse::kAlways;
  const std::string_view key = is_sure ? "replicas" : "memory_replicas";
  std::function<std::string()> no_memory;
  if (!is_sure) no_memory = [&settings] { return settings.replicas == 0 ? "memory_replicas is 0" : ""; };
  // A node that is lost takes the only copy with it; one that is evicted is still there.
  const auto no_copies = [&settings, no_memory, evicts, key]() -> std::string {
    if (no_memory && settings.replicas == 0) return no_memory();
    return settings.replicas == 1 && !evicts() ? fmt::format("{} is 1", key) : "";
  };
  return {{key, Need::kOptional, config::integer(settings.replicas, is_sure ? 1 : 0, 64),
           is_sure ? "number of nodes that hold a node's checkpoint in memory, including the node itself"
                   : "number of nodes that hold a node's checkpoint in memory, including the node itself; 0: "
                     "checkpoints go to storage only"},
          {"memory_interval_steps", Need::kOptional, config::integer(settings.interval_steps, 1, 1'000'000),
           "number of steps between checkpoints in memory", no_memory},
          {"memory_stall_s", Need::kOptional, config::number(settings.stall, kPolicySeconds, from_seconds(1)),
           "how long each checkpoint in memory delays training; 0 as in Gemini, which hides it completely",
           no_memory},
          {"memory_gb_per_s", Need::kOptional, config::number(settings.node, kPolicyGbPerS, 1e9),
           "rate at which a node fetches its checkpoint from another node", no_copies}};
}

// Some checkpoint of the group is on none of its nodes: so many neighbours around the ring hold nothing.
bool MemoryCheckpoints::has_lost(std::size_t first, std::size_t size) const {
  const std::size_t copies = std::min(static_cast<std::size_t>(settings_->replicas), size);
  std::size_t missing = 0;
  for (std::size_t i = 0; i < size + copies - 1; ++i) {
    missing = has_copy_[first + i % size] ? 0 : missing + 1;
    if (missing == copies) return true;
  }
  return false;
}

// The nodes of a place's group: those left over belong to the last one.
MemoryCheckpoints::PlaceGroup MemoryCheckpoints::group_of(std::size_t place) const {
  const auto replicas = static_cast<std::size_t>(settings_->replicas);
  const std::size_t groups = std::max<std::size_t>(1, places_.size() / replicas);
  const std::size_t group = std::min(place / replicas, groups - 1);
  const std::size_t first = group * replicas;
  return {first, group + 1 == groups ? places_.size() - first : replicas};
}

ResumeFrom MemoryCheckpoints::resume_level() const {
  const bool is_lost = std::any_of(without_copy_.begin(), without_copy_.end(), [this](std::size_t place) {
    const PlaceGroup group = group_of(place);
    return has_lost(group.first, group.size);
  });
  return is_lost ? ResumeFrom::kStorage : ResumeFrom::kMemory;
}

SimDuration MemoryCheckpoints::restore_time(ResumeFrom from, std::int32_t nodes) const {
  return from == ResumeFrom::kMemory ? Bytes{storage_.bytes().value / nodes} / settings_->node
                                     : storage_.restore_time(from, nodes);
}

CheckpointRules MemoryCheckpoints::rules(const StepTime& step, std::int32_t nodes,
                                         SimDuration restart) const {
  CheckpointRules rules = storage_.rules(step, nodes, restart);
  CheckpointRule& storage = rules[1];
  const std::int64_t every = settings_->interval_steps;
  rules[0] = {every, settings_->stall, {}};
  storage.interval = at_nth(storage.interval, every);
  storage.asked = at_nth(storage.asked, every);  // what memory leaves out storage does not skip
  if (storage.asked == storage.interval) storage.asked = 0;
  return rules;
}

void MemoryCheckpoints::note_trained() {
  has_copy_.assign(places_.size(), true);
  without_copy_.clear();
}

void MemoryCheckpoints::lose_copy(std::size_t place) {
  if (has_copy_[place]) without_copy_.push_back(place);
  has_copy_[place] = false;
}

void MemoryCheckpoints::note_loss(const NodeChange& change) {
  for (const NodeId node : change.lost) {
    const auto place = std::find(places_.begin(), places_.end(), node);
    if (place != places_.end()) lose_copy(static_cast<std::size_t>(place - places_.begin()));
  }
}

void MemoryCheckpoints::note_training(const Training& training) {
  const std::span<const NodeId> used = training.used;
  if (std::equal(used.begin(), used.end(), used_.begin(), used_.end())) return;  // the same nodes go on
  const bool is_first = places_.empty();
  const std::vector<NodeId> before = std::move(used_);
  used_.assign(used.begin(), used.end());
  if (is_first || used_.size() != places_.size()) {
    places_ = used_;
    note_trained();
    for (std::size_t place = 0; !is_first && place < places_.size(); ++place) lose_copy(place);
    return;
  }
  std::vector<NodeId> leaving;
  std::vector<NodeId> joining;
  std::set_difference(before.begin(), before.end(), used_.begin(), used_.end(), std::back_inserter(leaving));
  std::set_difference(used_.begin(), used_.end(), before.begin(), before.end(), std::back_inserter(joining));
  std::vector<std::size_t> places;
  for (const NodeId node : leaving)
    places.push_back(static_cast<std::size_t>(std::ranges::find(places_, node) - places_.begin()));
  std::sort(places.begin(), places.end());
  for (const std::size_t place : places) {
    places_[place] = joining.back();
    joining.pop_back();
    lose_copy(place);
  }
}

std::vector<std::string> memory_warnings(const MemorySettings& settings, const CheckpointSettings& storage) {
  const std::int64_t every = settings.interval_steps;
  if (storage.rule != IntervalRule::kFixed || storage.interval_steps % every == 0) return {};
  return {
      fmt::format("checkpoints are copied to storage from memory, which gets one every {} steps "
                  "(memory_interval_steps), so storage gets one every {} steps, not every {}",
                  every, at_nth(storage.interval_steps, every), storage.interval_steps)};
}

}  // namespace goodput
