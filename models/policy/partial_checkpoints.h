// Checkpoints that hold only some of the experts of every layer (models/checkpoint/lost_tokens.h), written in
// the background: what they cost, what every node has of them, and what a job loses and reads when it comes
// back from them. Nodes that live on recover from their own memory, lost ones from storage.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/checkpoint/checkpointed_run.h"
#include "models/checkpoint/dynamic_k.h"
#include "models/checkpoint/expert_copies.h"
#include "models/checkpoint/restore_cost.h"
#include "models/policy/checkpoint_store.h"
#include "models/policy/restart_options.h"
#include "sim/base/shared_memo.h"

namespace goodput {

struct PartialSaveOptions {
  PecLevels k{};
  ExpertSelection selection = ExpertSelection::kSequential;
  Sharding sharding = Sharding::kAdps;
  bool is_dynamic = false;  // Dynamic-K
  double plt_limit = kDynamicKLimit;
};

// What ranks write, for every number of them and all levels once for all threads.
class PartialSaves {
 public:
  // Keeps a reference to the job.
  PartialSaves(const JobModel& job, const CheckpointSettings& settings, const PartialSaveOptions& options)
      : job_(&job), settings_(settings), options_(options), bytes_(checkpoint_modules(job, settings)) {}

  [[nodiscard]] Status check(std::int32_t nodes) const {
    return check_rotation(bytes_, partial(nodes, options_.k));
  }
  [[nodiscard]] const CheckpointWrite& write(std::int32_t nodes, const PecLevels& k) const {
    return writes_.at({nodes, k.snapshot, k.persist}, [&] { return compute(nodes, k); });
  }
  [[nodiscard]] const PartialSaveOptions& options() const { return options_; }
  [[nodiscard]] const ModuleBytes& bytes() const { return bytes_; }

 private:
  [[nodiscard]] PartialCheckpoint partial(std::int32_t nodes, const PecLevels& k) const {
    return {k, options_.selection, options_.sharding, nodes * job_->plan().cluster.gpus_per_node};
  }
  [[nodiscard]] CheckpointWrite compute(std::int32_t nodes, const PecLevels& k) const;

  const JobModel* job_;
  CheckpointSettings settings_;
  PartialSaveOptions options_;
  ModuleBytes bytes_;
  mutable SharedMemo<3, CheckpointWrite> writes_;
};

class PartialCheckpoints final : public CheckpointStore {
 public:
  // Keeps references.
  PartialCheckpoints(const RestartJob& job, const PartialSaves& saves);

  [[nodiscard]] SimDuration restore_time(ResumeFrom from, std::int32_t nodes) const override {
    return whole_.restore_time(from, nodes);
  }
  [[nodiscard]] SimDuration resume_time(ResumeFrom from, std::int32_t nodes) const override;
  [[nodiscard]] CheckpointRules rules(const StepTime& step, std::int32_t nodes,
                                      SimDuration restart) const override {
    return {CheckpointRule{}, storage_rule(k_, step, nodes, restart)};
  }
  // A checkpoint with only some of the experts would lose the others.
  [[nodiscard]] SimDuration planned_save(std::int32_t nodes) const override {
    return whole_.planned_save(nodes);
  }
  [[nodiscard]] Bytes planned_bytes() const override { return whole_.planned_bytes(); }

  void note_trained() override;
  void note_loss(const NodeChange& change) override;
  // Counts the tokens lost by going back to the last checkpoint and the time to restore it, and sets the
  // levels with which the job continues.
  void note_stop(const Stop& stop) override;
  void note_training(const Training& training) override;

  // plt; with Dynamic-K, if checkpoints do not hold all experts anyway, the levels at the end.
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override;

 private:
  // Checkpoints from a step on.
  struct Saving {
    std::int64_t first_step = 0;
    std::int64_t interval = 0;  // steps; 0: none
    std::int32_t ranks = 1;
    PecLevels k{};

    [[nodiscard]] bool goes_on_with(const Saving& next) const {
      return interval == next.interval && ranks == next.ranks && k == next.k;
    }
  };

  [[nodiscard]] CheckpointRule storage_rule(const PecLevels& k, const StepTime& step, std::int32_t nodes,
                                            SimDuration restart) const {
    return checkpoint_rule(*settings_, saves_->write(nodes, k), step, restart,
                           mtbf_s(*settings_, *job_, nodes));
  }
  void lose_memory(NodeId node);
  void raise_levels(const Stop& stop);
  void replay_to(std::int64_t step);
  void replay_partial(std::int64_t step);
  void replay(const Saving& saving, std::int64_t last);
  [[nodiscard]] std::int64_t longest_memory(const PecLevels& k) const;
  void route(std::int64_t step);
  [[nodiscard]] std::int64_t tokens_of_step() const;
  [[nodiscard]] double share_of(double tokens, double steps) const;

  const JobModel* job_;
  const CheckpointSettings* settings_;
  const PartialSaves* saves_;
  StorageCheckpoints whole_;
  PecLevels k_;  // of checkpoints from now on
  ExpertCopies copies_;
  std::vector<NodeId> places_{};          // nodes that hold the copies in memory, ascending
  std::vector<std::int32_t> lost_{};      // of places_, those whose memory is gone; ascending
  std::vector<NodeId> training_{};        // the nodes that take the places once they train
  StepTime step_{};                       // with these
  std::optional<RestoreReads> reads_{};   // for the restart after the last stop; none: a whole checkpoint
  std::optional<std::size_t> window_{};   // of the routing, that copies_ know of
  std::vector<Saving> saving_;            // since replayed_; `first_step` ascends
  std::vector<std::int64_t> full_saves_;  // planned restarts, since the last stop; ascending steps
  std::int64_t replayed_ = 0;             // steps that copies_ knows of
  double tokens_lost_ = 0;
};

}  // namespace goodput
