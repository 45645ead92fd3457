// Jobs that come back from a checkpoint: what DeepSpeed, Tutel, plain checkpoint-restart and others have in
// common. A loss stops all nodes; once enough are there, processes start, load a checkpoint and train on.
// Policies differ in the parts this one is put together from.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/policy/checkpoint_store.h"
#include "models/policy/expert_balance.h"
#include "models/policy/fixed_nodes.h"
#include "models/policy/policy.h"
#include "models/policy/regrouping.h"
#include "models/policy/restart_options.h"
#include "sim/job/recovery_policy.h"

namespace goodput {

// Processes that are up stay up over a restart.
struct InPlaceRestart {
  SimDuration swap{};            // new process groups, in place of a start-up
  Spares spares = Spares::kHot;  // kCold: who takes the place of a lost node has to start first
};

struct RestartParts {
  // The job trains on exactly so many nodes, or waits; others are spares. None: on as many as it can use.
  std::optional<std::int32_t> fixed_nodes{};
  // None: every restart starts all processes.
  std::optional<InPlaceRestart> in_place{};
  // None: whole checkpoints in storage.
  std::unique_ptr<CheckpointStore> store{};
  // None: every loss means a restart.
  std::unique_ptr<Regrouping> regrouping{};
  // Which the job's speed knows of; outlives the run. Null: experts stay where they are.
  const ExpertBalance* balance = nullptr;
};

class RestartPolicy final : public RecoveryPolicy {
 public:
  // Keeps a reference.
  RestartPolicy(const RestartJob& job, RestartParts parts);

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override;
  [[nodiscard]] Response on_wake(const JobView& job) override;
  [[nodiscard]] SimTime wake_at() const override;
  [[nodiscard]] Course decide(const JobState& job) override;
  [[nodiscard]] Pace pace(std::int64_t step) override { return speed().pace(node_count(), step, slowest_); }
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override {
    return parts_.store->metrics(steps);
  }

 private:
  // Of these many available nodes the job takes so many; 0: it waits.
  [[nodiscard]] std::int32_t wanted(std::int32_t available) const;
  [[nodiscard]] bool could_grow(const JobView& job) const;
  void find_left(const JobState& job);
  [[nodiscard]] bool keeps_its_nodes(const JobState& job);
  [[nodiscard]] bool is_planned(const JobState& job) const;
  [[nodiscard]] std::optional<Course> go_on(const JobState& job);
  [[nodiscard]] Course carry_on(const JobState& job);
  [[nodiscard]] bool stays_up() const;  // all processes of the nodes in use, which are chosen already
  [[nodiscard]] Course restart(const JobState& job);
  [[nodiscard]] Phases restart_phases(const JobState& job, ResumeFrom from, SimDuration save) const;
  [[nodiscard]] Course wait(const JobState& job);
  void settle();
  // A course with the nodes in use.
  [[nodiscard]] Course train(const JobState& job, Cause cause, ResumeFrom from, const Phases& phases);
  [[nodiscard]] SimDuration restart_time() const;  // from a loss on, with running spares where there are any

  [[nodiscard]] const RestartOptions& options() const { return job_->options; }
  [[nodiscard]] const TrainingSpeed& speed() const { return *job_->speed; }
  [[nodiscard]] std::int32_t node_count() const { return static_cast<std::int32_t>(used_.size()); }

  const RestartJob* job_;
  RestartParts parts_;  // with a store
  NodeChoice choice_;
  std::vector<NodeId> used_;
  std::vector<NodeId> gone_;    // lost since, ascending; some may be back, with nothing
  std::vector<NodeId> left_;    // the others, but for those evicted; memory of decide()
  std::vector<NodeId> chosen_;  // memory of keeps_its_nodes()
  double slowest_ = 1;
  bool has_begun_ = false;
  bool has_lost_ = false;  // a node in use, since training began
  SimTime lost_at_{};      // the last of them
  bool is_waiting_ = false;
  bool is_growing_ = false;    // those that joined have been gathered
  bool holds_state_ = false;   // the nodes in use, since a (re)start on some of them
  SimTime wake_at_ = kNoTime;  // to grow onto nodes that are gathered
  SimTime woken_at_{};         // for the last time
  std::int64_t rebalances_at_ = kNoStep;
};

// The prepared policy of such runs. `make_parts`: (const RestartJob&) -> RestartParts, for every run anew;
// parts may refer to the job and to what `make_parts` has captured, which the prepared policy keeps.
template <typename MakeParts>
[[nodiscard]] std::unique_ptr<PreparedPolicy> restarting_policy(RestartJob job,
                                                                std::vector<std::string> warnings,
                                                                MakeParts make_parts) {
  const Tier tier = job.options.tier;
  const bool fits = job.fits;
  const SimDuration step = job.step;
  warnings.insert(warnings.end(), job.warnings.begin(), job.warnings.end());
  warnings.insert(warnings.end(), job.idle_nodes.begin(), job.idle_nodes.end());
  return prepared_policy(
      tier, std::move(warnings),
      [job = std::move(job), make_parts = std::move(make_parts)]() -> std::unique_ptr<RecoveryPolicy> {
        return std::make_unique<RestartPolicy>(job, make_parts(job));
      },
      fits, step);
}

}  // namespace goodput
