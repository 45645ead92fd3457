// Partial experts checkpoints (PEC, arXiv 2408.04307; MoC-System): as `ds`, but a checkpoint holds only some
// of the experts of every layer, in turn, and reaches storage in the background. It costs less time and, at
// every loss, what left-out experts have learned: the proportion of lost tokens
// (models/checkpoint/lost_tokens.h).
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <span>
#include <vector>

#include "models/checkpoint/checkpointed_run.h"
#include "models/checkpoint/expert_copies.h"
#include "models/checkpoint/lost_tokens.h"
#include "models/policy/restart_setup.h"

namespace goodput {
namespace {

struct PecOptions {
  PecLevels k{};
  ExpertSelection selection = ExpertSelection::kSequential;
  Sharding sharding = Sharding::kAdps;
};

// What ranks write, for every number of them once.
class PartialSaves {
 public:
  PartialSaves(const JobModel& job, const PecOptions& options, const CheckpointSettings& settings)
      : job_(&job),
        options_(&options),
        settings_(&settings),
        bytes_(module_bytes(job.modules(), settings.bytes_per_parameter)) {}

  [[nodiscard]] Status check(std::int32_t nodes) const { return check_rotation(bytes_, partial(nodes)); }

  [[nodiscard]] const SaveTimes& times(std::int32_t nodes) {
    const auto [found, is_new] = by_nodes_.try_emplace(nodes);
    if (is_new) found->second = compute(nodes);
    return found->second;
  }

 private:
  [[nodiscard]] PartialCheckpoint partial(std::int32_t nodes) const {
    return {options_->k, options_->selection, options_->sharding, nodes * job_->plan().cluster.gpus_per_node};
  }
  [[nodiscard]] SaveTimes compute(std::int32_t nodes) const {
    const PartialCheckpoint checkpoint = partial(nodes);
    const ExpertTokens tokens = expert_tokens(job_->modules(), job_->plan().parallel.sequence_length, 0, 0);
    const auto writes = [&](std::int32_t k) {
      const RankWrites of_rank = partial_rank_writes(bytes_, checkpoint, k, tokens);
      return LevelWrites{of_rank.peak, of_rank.mean_bytes * checkpoint.ranks};
    };
    const double gpus = job_->plan().cluster.gpus_per_node;
    return save_times(writes(options_->k.snapshot), writes(options_->k.persist),
                      {BytesPerSecond{settings_->snapshot.value / gpus}, settings_->write, settings_->write});
  }

  const JobModel* job_;
  const PecOptions* options_;
  const CheckpointSettings* settings_;
  ModuleBytes bytes_;
  std::map<std::int32_t, SaveTimes> by_nodes_;
};

class PecPolicy final : public RestartPolicy {
 public:
  PecPolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed,
            const PecOptions& options, PartialSaves& saves)
      : RestartPolicy(job, settings, speed),
        options_(&options),
        saves_(&saves),
        copies_(job.modules().expert_layers.size(), job.modules().experts) {}

  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override {
    const double layers = static_cast<double>(job_model().modules().expert_layers.size());
    const double seen = static_cast<double>(steps) * static_cast<double>(tokens_of_step()) * layers;
    return {{"plt", seen > 0 ? tokens_lost_ / seen : 0}};
  }

 private:
  // Checkpoints from a step on.
  struct Saving {
    std::int64_t first_step = 0;
    std::int64_t interval = 0;  // steps; 0: none
    std::int32_t ranks = 1;

    [[nodiscard]] bool goes_on_with(const Saving& next) const {
      return interval == next.interval && ranks == next.ranks;
    }
  };

  [[nodiscard]] SaveTimes save_times() const override { return saves_->times(node_count()); }

  // A checkpoint with only some of the experts would lose the others.
  [[nodiscard]] SimDuration planned_save() const override {
    return whole_save_times(settings().checkpoint, bytes(), node_count()).total();
  }

  // What every checkpoint up to the last one in storage held, and what coming back from it costs: a node that
  // is lost finds its experts there, the others have their own memory. With more than one node lost, or while
  // the job waits, no rank trusts its memory.
  void note_stop(const JobState& job, ResumeFrom from, std::span<const NodeId> left) override {
    if (from == ResumeFrom::kHere) return full_saves_.push_back(job.step);
    replay_to(job.step_from(from));
    full_saves_.clear();
    const std::size_t gone = used().size() - left.size();
    std::optional<std::int32_t> failed;
    if (gone <= 1) failed = static_cast<std::int32_t>(first_gone(left));
    // Nodes for ranks: a node loses what all its GPUs held, which is what one rank of so many would hold.
    tokens_lost_ += copies_.recover(failed, node_count());
  }
  // The position in used(); behind the last one if none is gone.
  [[nodiscard]] std::size_t first_gone(std::span<const NodeId> left) const {
    const auto differ = std::mismatch(left.begin(), left.end(), used().begin(), used().end());
    return static_cast<std::size_t>(differ.first - left.begin());
  }

  void note_training(std::int64_t step, const CheckpointRules& rules) override {
    std::erase_if(saving_, [step](const Saving& saving) { return saving.first_step >= step; });
    const Saving saving{step, rules[1].interval, node_count() * job_model().plan().cluster.gpus_per_node};
    if (!saving_.empty() && saving_.back().goes_on_with(saving)) return;
    saving_.push_back(saving);
  }

  void replay_to(std::int64_t step) {
    for (const std::int64_t full : full_saves_) {
      if (full > step) break;  // it did not come to an end
      replay_partial(full);
      copies_ = ExpertCopies(job_model().modules().expert_layers.size(), job_model().modules().experts);
      replayed_ = full;
    }
    replay_partial(step);
  }
  void replay_partial(std::int64_t step) {
    for (std::size_t i = 0; i < saving_.size(); ++i) {
      const std::int64_t last = i + 1 < saving_.size() ? std::min(step, saving_[i + 1].first_step) : step;
      replay(saving_[i], last);
    }
    while (saving_.size() > 1 && saving_[1].first_step <= replayed_) saving_.erase(saving_.begin());
  }
  void replay(const Saving& saving, std::int64_t last) {
    if (saving.interval == 0) return;
    const std::int64_t from = std::max(replayed_, saving.first_step);
    std::int64_t first = (from / saving.interval + 1) * saving.interval;
    if (const std::int64_t latest = last / saving.interval - longest_memory();
        options_->selection == ExpertSelection::kSequential && first / saving.interval < latest) {
      first = latest * saving.interval;
      replayed_ = first - saving.interval;
    }
    for (std::int64_t at = first; at <= last; at += saving.interval) {
      copies_.train(tokens_at(replayed_), at - replayed_);
      copies_.save(at / saving.interval, options_->k, options_->selection, saving.ranks);
      replayed_ = at;
    }
  }
  // Checkpoints after which no copy is as it was before: in turn, every expert has been copied to memory, and
  // from there to storage.
  [[nodiscard]] std::int64_t longest_memory() const {
    const std::int32_t experts = job_model().modules().experts;
    return std::int64_t{rotation_length(experts, options_->k.snapshot)} +
           rotation_length(experts, options_->k.persist) + 1;
  }

  // By layer and expert; layers of multi-token prediction do as the last of the others.
  [[nodiscard]] LayerTokens tokens_at(std::int64_t step) const {
    const JobRouting& routing = job_model().routing();
    LayerTokens tokens = scaled_loads(routing.loads(routing.window_at(step)), tokens_of_step());
    while (tokens.size() < job_model().modules().expert_layers.size()) tokens.push_back(tokens.back());
    return tokens;
  }

  // That go to the experts of a layer, top_k times each. Of the plan's batch: PLT is a ratio.
  [[nodiscard]] std::int64_t tokens_of_step() const {
    const ParallelPlan& plan = job_model().plan().parallel;
    return plan.global_batch * plan.sequence_length * job_model().plan().model.moe->top_k;
  }

  const PecOptions* options_;
  PartialSaves* saves_;
  ExpertCopies copies_;
  std::vector<Saving> saving_;            // since replayed_; `first_step` ascends
  std::vector<std::int64_t> full_saves_;  // planned restarts, since the last stop; ascending steps
  std::int64_t replayed_ = 0;             // steps that copies_ knows of
  double tokens_lost_ = 0;
};

class PecSetup final : public ExpertParallelSetup {
 public:
  PecSetup() { settings().checkpoint.mode = SaveMode::kAsync; }

  [[nodiscard]] config::Fields fields() override {
    using config::Need;
    config::Fields fields = ExpertParallelSetup::fields();
    const config::Fields own = {
        {"k_snapshot", Need::kOptional, config::integer(options_.k.snapshot, 1, 4096),
         "experts of a layer that a checkpoint copies to CPU memory"},
        {"k_persist", Need::kOptional, config::integer(options_.k.persist, 1, 4096), "of them, to storage"},
        {"selection", Need::kOptional, config::choice(options_.selection, kExpertSelectionNames),
         "which ones: in turn, or those with most tokens that no checkpoint holds"},
        {"sharding", Need::kOptional, config::choice(options_.sharding, kShardingNames),
         "who writes what all ranks hold (goodput checkpoint)"}};
    fields.insert(fields.end(), own.begin(), own.end());
    return fields;
  }

  [[nodiscard]] Status prepare(const JobModel& job) override {
    GOODPUT_TRY_STATUS(ExpertParallelSetup::prepare(job));
    const std::int32_t experts = job.modules().experts;
    if (options_.k.snapshot > experts)
      return Error{fmt::format("is {}, but a layer has {} experts", options_.k.snapshot, experts),
                   {.pointer = "/k_snapshot"}};
    if (options_.k.persist > options_.k.snapshot) {
      return Error{fmt::format("is {}, above k_snapshot {}: storage gets what is in memory",
                               options_.k.persist, options_.k.snapshot),
                   {.pointer = "/k_persist"}};
    }
    saves_ = std::make_unique<PartialSaves>(job, options_, settings().checkpoint);
    return saves_->check(speed().usable(job.most_nodes()));
  }

  [[nodiscard]] std::unique_ptr<RecoveryPolicy> make() override {
    return std::make_unique<PecPolicy>(job(), settings(), speed(), options_, *saves_);
  }

 private:
  PecOptions options_;
  std::unique_ptr<PartialSaves> saves_;
};

}  // namespace

PolicyInfo pec_policy() {
  return {"pec", "as ds with partial experts checkpoints in the background; reports lost tokens",
          [] { return std::unique_ptr<PolicySetup>(std::make_unique<PecSetup>()); }};
}

}  // namespace goodput
