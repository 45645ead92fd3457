// Jobs that come back from a checkpoint: what DeepSpeed, Tutel, plain checkpoint-restart and others have in
// common. A loss stops all nodes; once enough are there, processes start, load a checkpoint and train on.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/training_speed.h"
#include "models/policy/node_choice.h"
#include "models/policy/policy_options.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// What becomes of nodes that join while the job trains.
enum class Absorb : std::uint8_t {
  kAtRestart,  // they wait until something fails
  kGathered,   // the job restarts with them, gather_s after the first of them joined
};
inline constexpr std::string_view kAbsorbNames[] = {"at_restart", "gathered"};

struct RestartSettings {
  RestartTiming timing{};
  CheckpointSettings checkpoint{};
  SlowNodeRule slow_nodes{};
  Absorb absorb = Absorb::kAtRestart;
  SimDuration gather = from_seconds(120);
};

class RestartPolicy : public RecoveryPolicy {
 public:
  // Keeps references.
  RestartPolicy(const JobModel& job, const RestartSettings& settings, TrainingSpeed& speed);

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) final;
  [[nodiscard]] Response on_wake(const JobView& job) final;
  [[nodiscard]] SimTime wake_at() const final { return wake_at_; }
  [[nodiscard]] Course decide(const JobState& job) final;
  [[nodiscard]] Pace pace(std::int64_t step) final { return speed_->pace(node_count(), step, slowest_); }

 protected:
  // Of these many available nodes the job takes so many; 0: it waits. Less than the most that can be used
  // where the policy insists on a number.
  [[nodiscard]] virtual std::int32_t wanted(std::int32_t available) const {
    return speed_->usable(available);
  }

  // What becomes of copies in memory. Training went on with the nodes in use, as long as they were all there.
  virtual void note_trained() {}
  // Nodes are lost, used ones or not; after note_trained(), before anything is decided.
  virtual void note_loss(const NodeChange& /*change*/) {}
  // The nodes in use stop to restart, or to wait, from the checkpoint at that level. `left` are those of them
  // whose memory can still be used.
  virtual void note_stop(const JobState& /*job*/, ResumeFrom /*from*/, std::span<const NodeId> /*left*/) {}
  // After the nodes of a (re)start were chosen: who holds what.
  virtual void note_nodes() {}
  // The nodes in use are to train on from that step.
  virtual void note_training(std::int64_t /*step*/, const CheckpointRules& /*rules*/) {}

  // Goes on without a restart, after a loss or with nodes that joined; kWait: it cannot. `left` are those of
  // the nodes in use that may be used still and hold what they held. (A loss before it is done means a
  // restart.)
  [[nodiscard]] virtual Course go_on(const JobState& /*job*/, std::span<const NodeId> /*left*/) {
    return {.kind = Course::Kind::kWait};
  }

  // The level to come back from, and the phases of it, behind the detection of the loss.
  [[nodiscard]] virtual ResumeFrom resume_level() const { return ResumeFrom::kStorage; }
  virtual void add_restart(ResumeFrom from, Phases& phases) const;
  [[nodiscard]] virtual CheckpointRules checkpoint_rules(const StepTime& step) const;
  // Of a checkpoint in storage, by the nodes in use.
  [[nodiscard]] virtual SaveTimes save_times() const;
  // Until everything is in storage, before a restart that is planned.
  [[nodiscard]] virtual SimDuration planned_save() const { return save_times().total(); }

  // A course with the nodes in use.
  [[nodiscard]] Course train(const JobState& job, Cause cause, ResumeFrom from, const Phases& phases);

  void use(std::span<const NodeId> nodes) { used_.assign(nodes.begin(), nodes.end()); }
  [[nodiscard]] std::span<const NodeId> used() const { return used_; }
  [[nodiscard]] std::int32_t node_count() const { return static_cast<std::int32_t>(used_.size()); }
  [[nodiscard]] const NodeChoice& choice() const { return choice_; }
  [[nodiscard]] bool has_lost() const { return has_lost_; }
  [[nodiscard]] bool is_waiting() const { return is_waiting_; }
  [[nodiscard]] const JobModel& job_model() const { return *job_; }
  [[nodiscard]] const RestartSettings& settings() const { return *settings_; }
  [[nodiscard]] TrainingSpeed& speed() const { return *speed_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  void find_left(const JobState& job);
  [[nodiscard]] bool keeps_its_nodes(const JobState& job);
  [[nodiscard]] bool could_grow(const JobView& job) const {
    return wanted(choice_.available(*job.members)) > node_count();
  }
  [[nodiscard]] bool is_planned(const JobState& job) const;
  [[nodiscard]] Course restart(const JobState& job);
  [[nodiscard]] Course wait(const JobState& job);
  void settle();
  [[nodiscard]] SimDuration restart_time() const;  // detection included

  const JobModel* job_;
  const RestartSettings* settings_;
  TrainingSpeed* speed_;
  NodeChoice choice_;
  Bytes bytes_;  // of a whole checkpoint
  std::vector<NodeId> used_;
  std::vector<NodeId> gone_;    // of those in use, lost since; some may be back, with nothing
  std::vector<NodeId> left_;    // the others, but for those evicted; memory of decide()
  std::vector<NodeId> chosen_;  // memory of keeps_its_nodes()
  double slowest_ = 1;
  bool has_begun_ = false;
  bool has_lost_ = false;  // a node in use, since training began
  SimTime lost_at_{};      // the last of them
  bool is_waiting_ = false;
  bool is_growing_ = false;  // those that joined have been gathered
  SimTime wake_at_ = kNoTime;
};

}  // namespace goodput
