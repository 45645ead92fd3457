// Gemini (SOSP 2023): checkpoints go to the CPU memory of other nodes, at every step if there is time, and
// hide behind training. Nodes stand in groups of `replicas`, each of which holds the checkpoint of all its
// members; while every group keeps one member, the job comes back from memory, else from storage. It trains
// on a fixed number of nodes and waits for spares.
#include <algorithm>
#include <vector>

#include "models/policy/fixed_size_policy.h"

namespace goodput {
namespace {

struct GeminiOptions {
  std::int32_t replicas = 2;
  std::int64_t interval_steps = 1;
  SimDuration stall{};
  BytesPerSecond node{10e9};  // what a node fetches of its checkpoint from another
};

class GeminiPolicy final : public FixedSizePolicy {
 public:
  GeminiPolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed, std::int32_t nodes,
               const GeminiOptions& options)
      : FixedSizePolicy(job, settings, speed, nodes), options_(&options) {}

 private:
  // The first checkpoint in memory is taken to be there at once.
  void note_trained() override { has_copy_.assign(places_.size(), true); }
  void note_loss(const NodeChange& change) override {
    for (std::size_t place = 0; place < places_.size(); ++place) {
      if (std::binary_search(change.lost.begin(), change.lost.end(), places_[place]))
        has_copy_[place] = false;
    }
  }

  // Nodes that stay keep their places; others fill those that became free.
  void note_nodes() override {
    std::vector<NodeId> others;
    for (const NodeId node : used()) {
      if (std::find(places_.begin(), places_.end(), node) == places_.end()) others.push_back(node);
    }
    if (places_.empty()) {
      places_ = std::move(others);
      has_copy_.assign(places_.size(), true);
      return;
    }
    for (std::size_t place = 0; place < places_.size(); ++place) {
      if (std::binary_search(used().begin(), used().end(), places_[place])) continue;
      places_[place] = others.back();
      others.pop_back();
      has_copy_[place] = false;
    }
  }

  [[nodiscard]] ResumeFrom resume_level() const override {
    const auto size = static_cast<std::size_t>(options_->replicas);
    for (std::size_t first = 0; first < has_copy_.size(); first += size) {
      const std::size_t last = std::min(first + size, has_copy_.size());
      bool is_kept = false;
      for (std::size_t place = first; place < last; ++place) is_kept = is_kept || has_copy_[place];
      if (!is_kept) return ResumeFrom::kStorage;
    }
    return ResumeFrom::kMemory;
  }

  void add_restart(ResumeFrom from, Phases& phases) const override {
    phases.add(TimeBucket::kProgramStartup, settings().timing.startup);
    const Bytes of_node{bytes().value / std::max(1, static_cast<std::int32_t>(places_.size()))};
    phases.add(TimeBucket::kCheckpointRestore,
               from == ResumeFrom::kMemory ? of_node / options_->node : bytes() / settings().checkpoint.read);
  }

  [[nodiscard]] CheckpointRules checkpoint_rules(const StepTime& step) const override {
    CheckpointRules rules = FixedSizePolicy::checkpoint_rules(step);
    CheckpointRule& storage = rules[1];
    rules[0] = {options_->interval_steps, options_->stall, {}};
    const std::int64_t every = options_->interval_steps;  // storage takes every n-th of memory's
    storage.interval = (storage.interval + every - 1) / every * every;
    return rules;
  }

  const GeminiOptions* options_;
  std::vector<NodeId> places_;
  std::vector<bool> has_copy_;  // by place: whether its node holds its group's checkpoint
};

class GeminiSetup final : public FixedSizeSetup {
 public:
  // Storage is filled from the copies in memory, beside the training.
  GeminiSetup() { settings().checkpoint.mode = SaveMode::kAsync; }

  [[nodiscard]] config::Fields fields() override {
    using config::Need;
    config::Fields fields = FixedSizeSetup::fields();
    const config::Fields own = {
        {"replicas", Need::kOptional, config::integer(options_.replicas, 1, 64),
         "nodes that hold a checkpoint"},
        {"memory_interval_steps", Need::kOptional, config::integer(options_.interval_steps, 1, 1'000'000),
         "from one checkpoint in memory to the next"},
        {"memory_stall_s", Need::kOptional, config::number(options_.stall, kPolicySeconds, from_seconds(1)),
         "by which each delays training; Gemini hides all of it"},
        {"memory_gb_per_s", Need::kOptional, config::number(options_.node, kPolicyGbPerS, 1e9),
         "a node fetches its checkpoint from another"}};
    fields.insert(fields.end(), own.begin(), own.end());
    return fields;
  }
  [[nodiscard]] std::unique_ptr<RecoveryPolicy> make() override {
    return std::make_unique<GeminiPolicy>(job(), settings(), speed(), nodes(), options_);
  }

 private:
  GeminiOptions options_;
};

}  // namespace

PolicyInfo gemini_policy() {
  return {"gemini", "checkpoints in the memory of other nodes; a fixed number of nodes, waits for spares",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<GeminiSetup>()); }};
}

}  // namespace goodput
