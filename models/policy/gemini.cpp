// Gemini (SOSP 2023): checkpoints go to the CPU memory of other nodes, at every step if there is time, and
// hide behind training. Nodes stand in groups of `replicas`, each of which holds the checkpoint of all its
// members; while every group keeps one member, the job comes back from memory, else from storage. It trains
// on a fixed number of nodes and waits for spares.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "models/policy/fixed_nodes.h"
#include "models/policy/policy.h"
#include "models/policy/restart_policy.h"

namespace goodput {
namespace {

struct GeminiOptions {
  std::int32_t nodes = 0;
  // Storage is filled from the copies in memory, beside the training.
  RestartOptions restart{.checkpoint = {.mode = SaveMode::kAsync}};
  std::int32_t replicas = 2;
  std::int64_t interval_steps = 1;
  SimDuration stall{};
  BytesPerSecond node{10e9};  // what a node fetches of its checkpoint from another
};

config::Fields config_fields(GeminiOptions& options, const PolicyContext& context) {
  using config::Need;
  // A node that is lost takes the only copy with it; one that is evicted is still there.
  const auto no_copies = [&options] {
    const bool evicts = options.restart.slow_nodes.action == SlowNodeAction::kEvict;
    return options.replicas == 1 && !evicts ? "replicas is 1" : "";
  };
  return joined(
      fixed_nodes_fields(options.nodes, options.restart, context),
      {{"replicas", Need::kOptional, config::integer(options.replicas, 1, 64),
        "nodes that hold a checkpoint"},
       {"memory_interval_steps", Need::kOptional, config::integer(options.interval_steps, 1, 1'000'000),
        "from one checkpoint in memory to the next"},
       {"memory_stall_s", Need::kOptional, config::number(options.stall, kPolicySeconds, from_seconds(1)),
        "by which each delays training; Gemini hides all of it"},
       {"memory_gb_per_s", Need::kOptional, config::number(options.node, kPolicyGbPerS, 1e9),
        "a node fetches its checkpoint from another", no_copies}});
}

class MemoryCheckpoints final : public CheckpointStore {
 public:
  // Keeps references.
  MemoryCheckpoints(const RestartJob& job, const GeminiOptions& options)
      : options_(&options), storage_(*job.job, job.options.checkpoint) {}

  [[nodiscard]] ResumeFrom resume_level() const override {
    const auto size = static_cast<std::ptrdiff_t>(options_->replicas);
    for (auto first = has_copy_.begin(); first != has_copy_.end();) {
      const auto last = first + std::min(size, has_copy_.end() - first);
      if (std::find(first, last, true) == last) return ResumeFrom::kStorage;
      first = last;
    }
    return ResumeFrom::kMemory;
  }
  [[nodiscard]] SimDuration restore_time(ResumeFrom from, std::int32_t nodes) const override {
    return from == ResumeFrom::kMemory ? Bytes{storage_.bytes().value / nodes} / options_->node
                                       : storage_.restore_time(from, nodes);
  }

  [[nodiscard]] CheckpointRules rules(const StepTime& step, std::int32_t nodes,
                                      SimDuration restart) const override {
    CheckpointRules rules = storage_.rules(step, nodes, restart);
    CheckpointRule& storage = rules[1];
    rules[0] = {options_->interval_steps, options_->stall, {}};
    const std::int64_t every = options_->interval_steps;  // storage takes every n-th of memory's
    const auto at_nth = [every](std::int64_t interval) { return (interval + every - 1) / every * every; };
    storage.interval = at_nth(storage.interval);
    storage.asked = at_nth(storage.asked);  // what memory leaves out storage does not skip
    if (storage.asked == storage.interval) storage.asked = 0;
    return rules;
  }
  [[nodiscard]] SimDuration planned_save(std::int32_t nodes) const override {
    return storage_.planned_save(nodes);
  }

  // The first checkpoint in memory is taken to be there at once.
  void note_trained() override { has_copy_.assign(places_.size(), true); }
  void note_loss(const NodeChange& change) override {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      if (std::binary_search(change.lost.begin(), change.lost.end(), places_[place]))
        has_copy_[place] = false;
    }
  }
  // Nodes that stay keep their places; others fill those that became free.
  void note_training(std::int64_t /*step*/, const CheckpointRules& /*rules*/,
                     std::span<const NodeId> used) override {
    if (std::equal(used.begin(), used.end(), used_.begin(), used_.end())) return;  // the same nodes go on
    std::vector<NodeId> others;
    std::set_difference(used.begin(), used.end(), used_.begin(), used_.end(), std::back_inserter(others));
    used_.assign(used.begin(), used.end());
    if (places_.empty()) {
      places_ = std::move(others);
      has_copy_.assign(places_.size(), true);
      return;
    }
    for (std::size_t place = 0; place < places_.size(); ++place) {
      if (std::binary_search(used.begin(), used.end(), places_[place])) continue;
      places_[place] = others.back();
      others.pop_back();
      has_copy_[place] = false;
    }
  }

 private:
  const GeminiOptions* options_;
  StorageCheckpoints storage_;
  std::vector<NodeId> used_;    // ascending
  std::vector<NodeId> places_;  // the same, by group and place in it
  std::vector<bool> has_copy_;  // by place: whether its node holds its group's checkpoint
};

std::vector<std::string> gemini_warnings(const GeminiOptions& options) {
  const CheckpointSettings& storage = options.restart.checkpoint;
  const std::int64_t every = options.interval_steps;
  if (storage.rule != IntervalRule::kFixed || storage.interval_steps % every == 0) return {};
  return {
      fmt::format("storage takes every n-th checkpoint in memory (memory_interval_steps {}): one every {} "
                  "steps, not {}",
                  every, (storage.interval_steps + every - 1) / every * every, storage.interval_steps)};
}

Result<std::unique_ptr<PreparedPolicy>> prepare_gemini(const GeminiOptions& options, const JobModel& job) {
  GOODPUT_TRY(RestartJob restarts, restart_job(job, options.restart));
  GOODPUT_TRY(const std::int32_t nodes, fixed_nodes(options.nodes, restarts));
  return restarting_policy(
      std::move(restarts), gemini_warnings(options), [nodes, options](const RestartJob& of) {
        return RestartParts{.fixed_nodes = nodes, .store = std::make_unique<MemoryCheckpoints>(of, options)};
      });
}

}  // namespace

PolicyInfo policy_gemini() {
  return {"gemini", "checkpoints in the memory of other nodes; a fixed number of nodes, waits for spares",
          [] { return policy_setup(GeminiOptions{}, prepare_gemini); }};
}

}  // namespace goodput
