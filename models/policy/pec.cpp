// Partial experts checkpoints (PEC, arXiv 2408.04307; MoC-System): as `ds`, but a checkpoint holds only some
// of the experts of every layer, in turn, and reaches storage in the background. It costs less time and, at
// every loss, what left-out experts have learned: the proportion of lost tokens
// (models/checkpoint/lost_tokens.h).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <vector>

#include "models/checkpoint/checkpointed_run.h"
#include "models/checkpoint/expert_copies.h"
#include "models/checkpoint/lost_tokens.h"
#include "models/policy/expert_parallel.h"
#include "models/policy/restart_policy.h"
#include "sim/base/shared_memo.h"

namespace goodput {
namespace {

struct PecOptions {
  ExpertParallelOptions groups{.restart = {.checkpoint = {.mode = SaveMode::kAsync}}};
  PecLevels k{};
  ExpertSelection selection = ExpertSelection::kSequential;
  Sharding sharding = Sharding::kAdps;
};

config::Fields config_fields(PecOptions& options, const PolicyContext& context) {
  using config::Need;
  const auto no_save = [&options] { return no_interval(options.groups.restart.checkpoint); };
  const auto no_choice = [&options, no_save, experts = context.experts] {
    const bool holds_all = experts > 0 && options.k.persist == experts;
    return holds_all ? fmt::format("checkpoints hold all {} experts", experts) : no_save();
  };
  return joined(config_fields(options.groups, context, {.snapshots_in_sync = true}),
                {{"k_snapshot", Need::kOptional, config::integer(options.k.snapshot, 1, 4096),
                  "number of experts per layer that a checkpoint copies to CPU memory", no_save},
                 {"k_persist", Need::kOptional, config::integer(options.k.persist, 1, 4096),
                  "number of experts per layer that a checkpoint writes to storage, out of the k_snapshot "
                  "experts copied to CPU memory",
                  no_save},
                 {"selection", Need::kOptional, config::choice(options.selection, kExpertSelectionNames),
                  "which experts a checkpoint saves: the next ones in a fixed order, or those with the most "
                  "tokens since their last checkpoint",
                  no_choice},
                 {"sharding", Need::kOptional, config::choice(options.sharding, kShardingNames),
                  "which ranks write the state that all ranks hold (see `goodput checkpoint`)", no_save}});
}

Status check_experts(const PecOptions& options, std::int32_t experts) {
  if (options.k.snapshot > experts)
    return Error{fmt::format("is {}, but a layer has only {} experts", options.k.snapshot, experts),
                 {.pointer = "/k_snapshot"}};
  if (options.k.persist > options.k.snapshot) {
    return Error{fmt::format("is {}, more than k_snapshot ({}); only experts in memory can go to storage",
                             options.k.persist, options.k.snapshot),
                 {.pointer = "/k_persist"}};
  }
  return Ok{};
}

// What ranks write, for every number of them once for all threads.
class PartialSaves {
 public:
  PartialSaves(const JobModel& job, const PecOptions& options)
      : job_(&job), options_(options), bytes_(checkpoint_modules(job, options.groups.restart.checkpoint)) {}

  [[nodiscard]] Status check(std::int32_t nodes) const { return check_rotation(bytes_, partial(nodes)); }

  [[nodiscard]] const CheckpointWrite& write(std::int32_t nodes) const {
    return by_nodes_.at({nodes}, [&] { return compute(nodes); });
  }

 private:
  [[nodiscard]] PartialCheckpoint partial(std::int32_t nodes) const {
    return {options_.k, options_.selection, options_.sharding, nodes * job_->plan().cluster.gpus_per_node};
  }
  [[nodiscard]] CheckpointWrite compute(std::int32_t nodes) const {
    const PartialCheckpoint checkpoint = partial(nodes);
    const ExpertTokens tokens = expert_tokens(job_->modules(), job_->plan().parallel.sequence_length, 0, 0);
    const auto writes = [&](std::int32_t k) {
      const RankWrites of_rank = partial_rank_writes(bytes_, checkpoint, k, tokens);
      return LevelWrites{of_rank.peak, of_rank.mean_bytes * checkpoint.ranks};
    };
    const CheckpointSettings& settings = options_.groups.restart.checkpoint;
    const double gpus = job_->plan().cluster.gpus_per_node;
    const LevelWrites stored = writes(options_.k.persist);
    return {save_times(writes(options_.k.snapshot), stored,
                       {BytesPerSecond{settings.snapshot.value / gpus}, settings.write, settings.write}),
            Bytes{std::llround(stored.total_bytes)}};
  }

  const JobModel* job_;
  PecOptions options_;
  ModuleBytes bytes_;
  mutable SharedMemo<1, CheckpointWrite> by_nodes_;
};

class PartialCheckpoints final : public CheckpointStore {
 public:
  // Keeps references.
  PartialCheckpoints(const RestartJob& job, const PecOptions& options, const PartialSaves& saves)
      : job_(job.job),
        settings_(&job.options.checkpoint),
        options_(&options),
        saves_(&saves),
        whole_(*job_, *settings_),
        copies_(job_->modules().expert_layers.size(), job_->modules().experts) {}

  [[nodiscard]] SimDuration restore_time(ResumeFrom from, std::int32_t nodes) const override {
    return whole_.restore_time(from, nodes);
  }
  [[nodiscard]] CheckpointRules rules(const StepTime& step, std::int32_t nodes,
                                      SimDuration restart) const override {
    return {CheckpointRule{}, checkpoint_rule(*settings_, saves_->write(nodes), step, restart,
                                              mtbf_s(*settings_, *job_, nodes))};
  }
  // A checkpoint with only some of the experts would lose the others.
  [[nodiscard]] SimDuration planned_save(std::int32_t nodes) const override {
    return whole_.planned_save(nodes);
  }
  [[nodiscard]] Bytes planned_bytes() const override { return whole_.planned_bytes(); }

  // What every checkpoint up to the last one in storage held, and what coming back from it costs: a node that
  // is lost finds its experts there, the others have their own memory. With more than one node lost, or while
  // the job waits, no rank trusts its memory.
  void note_stop(const Stop& stop) override {
    if (stop.from == ResumeFrom::kHere) return full_saves_.push_back(stop.job.step);
    replay_to(stop.job.step_from(stop.from));
    full_saves_.clear();
    const std::size_t gone = stop.used.size() - stop.left.size();
    std::optional<std::int32_t> failed;
    if (gone <= 1) failed = first_gone(stop);
    // Nodes for ranks: a node loses what all its GPUs held, which is what one rank of so many would hold.
    tokens_lost_ += copies_.recover(failed, static_cast<std::int32_t>(stop.used.size()));
  }
  void note_training(std::int64_t step, const CheckpointRules& rules, std::span<const NodeId> used) override {
    std::erase_if(saving_, [step](const Saving& saving) { return saving.first_step >= step; });
    const auto nodes = static_cast<std::int32_t>(used.size());
    const Saving saving{step, rules[1].interval, nodes * job_->plan().cluster.gpus_per_node};
    if (!saving_.empty() && saving_.back().goes_on_with(saving)) return;
    saving_.push_back(saving);
  }

  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override {
    const double layers = static_cast<double>(job_->modules().expert_layers.size());
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

  // The position in used; behind the last one if none is gone.
  [[nodiscard]] static std::int32_t first_gone(const Stop& stop) {
    const auto differ = std::mismatch(stop.left.begin(), stop.left.end(), stop.used.begin(), stop.used.end());
    return static_cast<std::int32_t>(differ.first - stop.left.begin());
  }

  void replay_to(std::int64_t step) {
    for (const std::int64_t full : full_saves_) {
      if (full > step) break;  // it did not come to an end
      replay_partial(full);
      copies_ = ExpertCopies(job_->modules().expert_layers.size(), job_->modules().experts);
      window_.reset();
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
      route(replayed_);
      copies_.train(at - replayed_);
      copies_.save(at / saving.interval, options_->k, options_->selection, saving.ranks);
      replayed_ = at;
    }
  }
  // Checkpoints after which no copy is as it was before: in turn, every expert has been copied to memory, and
  // from there to storage.
  [[nodiscard]] std::int64_t longest_memory() const {
    const std::int32_t experts = job_->modules().experts;
    return std::int64_t{rotation_length(experts, options_->k.snapshot)} +
           rotation_length(experts, options_->k.persist) + 1;
  }

  // Tells the copies how many tokens experts get in that step, by layer and expert; layers of multi-token
  // prediction do as the last of the others.
  void route(std::int64_t step) {
    const JobRouting& routing = job_->routing();
    const std::size_t window = routing.window_at(step);
    if (window_ == window) return;
    ExpertTokens tokens = scaled_loads(routing.loads(window), tokens_of_step());
    while (tokens.size() < job_->modules().expert_layers.size()) tokens.push_back(tokens.back());
    copies_.set_tokens(tokens);
    window_ = window;
  }

  // That go to the experts of a layer, top_k times each. Of the plan's batch: PLT is a ratio.
  [[nodiscard]] std::int64_t tokens_of_step() const {
    const ParallelPlan& plan = job_->plan().parallel;
    return plan.global_batch * plan.sequence_length * job_->plan().model.moe->top_k;
  }

  const JobModel* job_;
  const CheckpointSettings* settings_;
  const PecOptions* options_;
  const PartialSaves* saves_;
  StorageCheckpoints whole_;
  ExpertCopies copies_;
  std::optional<std::size_t> window_{};   // of the routing, that copies_ know of
  std::vector<Saving> saving_;            // since replayed_; `first_step` ascends
  std::vector<std::int64_t> full_saves_;  // planned restarts, since the last stop; ascending steps
  std::int64_t replayed_ = 0;             // steps that copies_ knows of
  double tokens_lost_ = 0;
};

Result<std::unique_ptr<PreparedPolicy>> prepare_pec(const PecOptions& options, const JobModel& job) {
  GOODPUT_TRY_STATUS(check_one_stage(job));
  GOODPUT_TRY(ExpertParallelJob groups, expert_parallel_job(job, options.groups));
  GOODPUT_TRY_STATUS(check_experts(options, job.modules().experts));
  auto saves = std::make_unique<PartialSaves>(job, options);
  GOODPUT_TRY_STATUS(saves->check(groups.restarts.speed->usable(job.most_nodes())));
  return restarting_policy(
      std::move(groups.restarts), std::move(groups.warnings),
      [options, saves = std::move(saves)](const RestartJob& of) {
        return RestartParts{.store = std::make_unique<PartialCheckpoints>(of, options, *saves)};
      });
}

Result<PlanLimits> pec_limits(const PecOptions& options, const TrainingPlan& base) {
  GOODPUT_TRY(PlanLimits limits, limits_of_groups(options.groups, base, GroupStages::kOne));
  GOODPUT_TRY_STATUS(check_experts(options, base.model.moe->experts));
  return limits;
}

}  // namespace

PolicyInfo policy_pec() {
  return {"pec",
          "like ds, with partial expert checkpoints (PEC) written in the background; reports lost tokens",
          [] { return policy_setup(PecOptions{}, prepare_pec, pec_limits); }};
}

}  // namespace goodput
