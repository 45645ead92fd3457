// Where the checkpoints of a job that restarts lie: a part of RestartPolicy (models/policy/restart_policy.h).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/job/job_model.h"
#include "models/policy/policy_options.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// The nodes in use stop, to restart or to wait. Or a job that waited is about to restart.
struct Stop {
  const JobState& job;
  ResumeFrom from = ResumeFrom::kStorage;  // the job comes back from here
  std::span<const NodeId> used;            // until now; none: the job waited
  std::span<const NodeId> left;            // of these, those whose memory can still be used
};

// The nodes in use are to train, after the phases of a restart or at once.
struct Training {
  std::int64_t from_step = 0;
  const StepTime& step;
  const CheckpointRules& rules;
  std::span<const NodeId> used;  // ascending
};

class CheckpointStore {
 public:
  virtual ~CheckpointStore() = default;

  // Which checkpoint the job would come back from now, and how long `nodes` nodes take to load it.
  [[nodiscard]] virtual ResumeFrom resume_level() const { return ResumeFrom::kStorage; }
  [[nodiscard]] virtual SimDuration restore_time(ResumeFrom from, std::int32_t nodes) const = 0;
  // The same for the restart after the last stop. A store may know what the nodes that are left still hold.
  [[nodiscard]] virtual SimDuration resume_time(ResumeFrom from, std::int32_t nodes) const {
    return restore_time(from, nodes);
  }

  // How `nodes` nodes save while they train with such steps. `restart`: from a loss until training goes on.
  [[nodiscard]] virtual CheckpointRules rules(const StepTime& step, std::int32_t nodes,
                                              SimDuration restart) const = 0;
  // Until everything is in storage, before a restart that is planned, and how much that is.
  [[nodiscard]] virtual SimDuration planned_save(std::int32_t nodes) const = 0;
  [[nodiscard]] virtual Bytes planned_bytes() const = 0;

  // What happens to the nodes, for stores whose copies are in them.
  virtual void note_trained() {}  // with the nodes in use, up to now
  // Nodes in use or not; after note_trained() where training went on, before anything is decided.
  virtual void note_loss(const NodeChange& /*lost*/) {}
  virtual void note_stop(const Stop& /*stop*/) {}
  // Told at every decision, also when the nodes are the same as before.
  virtual void note_training(const Training& /*training*/) {}

  // What the run showed; `steps` counted in the end.
  [[nodiscard]] virtual std::vector<PolicyMetric> metrics(std::int64_t /*steps*/) const { return {}; }
};

// Whole checkpoints in storage that all nodes share.
class StorageCheckpoints final : public CheckpointStore {
 public:
  // Keeps references.
  StorageCheckpoints(const JobModel& job, const CheckpointSettings& settings)
      : job_(&job), settings_(&settings), bytes_(checkpoint_bytes(job, settings)) {}

  [[nodiscard]] SimDuration restore_time(ResumeFrom /*from*/, std::int32_t /*nodes*/) const override {
    return bytes_ / settings_->read;
  }
  [[nodiscard]] CheckpointRules rules(const StepTime& step, std::int32_t nodes,
                                      SimDuration restart) const override {
    return {CheckpointRule{}, checkpoint_rule(*settings_, {save_times(nodes), bytes_}, step, restart,
                                              mtbf_s(*settings_, *job_, nodes))};
  }
  [[nodiscard]] SimDuration planned_save(std::int32_t nodes) const override {
    return save_times(nodes).total();
  }
  [[nodiscard]] Bytes planned_bytes() const override { return bytes_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }  // of one

 private:
  [[nodiscard]] SaveTimes save_times(std::int32_t nodes) const {
    return whole_save_times(*settings_, bytes_, nodes);
  }

  const JobModel* job_;
  const CheckpointSettings* settings_;
  Bytes bytes_;
};

}  // namespace goodput
