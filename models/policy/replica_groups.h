// Which groups of nodes train, and which start beside them: data-parallel replicas that a job can go without,
// as torchft and FT-HSDP (arXiv 2602.00277) do. A part of RestartPolicy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/training_speed.h"
#include "models/migration/expert_migration.h"
#include "models/policy/node_choice.h"
#include "models/policy/plan_limits.h"
#include "models/policy/regrouping.h"
#include "models/policy/restart_options.h"

namespace goodput {

struct ReplicaGroupSize {
  std::int32_t nodes = 1;
  std::int32_t replicas = 1;  // of the plan, with whole expert-parallel groups
};

// The smallest that whole nodes hold, or of so many nodes where that is not 0. Fails, with a pointer to the
// option nodes_per_replica, where whole replicas do not fill them.
[[nodiscard]] Result<ReplicaGroupSize> replica_group(const JobModel& job, std::int32_t nodes);

// The plans that have such groups on their own nodes.
[[nodiscard]] PlanLimits limits_of_replica_groups(std::int32_t nodes, const TrainingPlan& base);

// How fast a job trains in replica groups: nodes that hold whole replicas of the plan, and over which ZeRO
// shards. A group can go without any other; what that costs in memory and time is in the numbers.
class ReplicaGroupSpeed final : public TrainingSpeed {
 public:
  // Keeps a reference.
  ReplicaGroupSpeed(const JobModel& job, const ReplicaGroupSize& group, const StepSettings& settings)
      : job_(&job), group_(group), settings_(settings) {}

  [[nodiscard]] std::int32_t whole(std::int32_t nodes) const override;
  [[nodiscard]] std::int32_t usable(std::int32_t nodes) const override;
  [[nodiscard]] Result<StepTime> compute(std::int32_t nodes, std::int64_t step,
                                         double slowest) const override;
  [[nodiscard]] Stretch stretch(std::int64_t /*step*/) const override { return {0, kNoStep}; }
  [[nodiscard]] bool follows_routing() const override { return false; }

  [[nodiscard]] const ReplicaGroupSize& group() const { return group_; }
  // The plan of so many groups.
  [[nodiscard]] ParallelPlan plan_of(std::int32_t groups) const;

 private:
  const JobModel* job_;
  ReplicaGroupSize group_;
  StepSettings settings_;
};

// The plan on all nodes that there can be.
[[nodiscard]] ParallelPlan widest_plan(const JobModel& job, const ReplicaGroupSpeed& speed);

// What it costs that no shard is outside a group, on all nodes of the job: at most one.
[[nodiscard]] std::vector<std::string> sharding_warnings(const JobModel& job, const ReplicaGroupSpeed& speed);

// How a replica that comes back gets the state of the others.
enum class CatchUp : std::uint8_t {
  kBeside,  // while they train: it is late by what that takes, and nobody waits
  kStop,    // once it is ready, and all wait
};
inline constexpr std::string_view kCatchUpNames[] = {"beside", "stop"};

struct RejoinSettings {
  SimDuration rejoin = from_seconds(60);  // start-up of a replica's processes, beside the training
  CatchUp catch_up = CatchUp::kBeside;
  MigrationTiming migration{};
};

// A group that lost a node stops, the others go on. As soon as there are enough nodes without a place, a
// group of them starts: after a loss once that is noticed.
class ReplicaGroups final : public Regrouping {
 public:
  // Keeps references; `speed` is the job's.
  ReplicaGroups(const RestartJob& job, const ReplicaGroupSpeed& speed, const RejoinSettings& settings);

  // Groups of consecutive nodes.
  void place(std::span<const NodeId> used) override;
  [[nodiscard]] std::optional<Regrouped> go_on(const Remains& remains) override;
  [[nodiscard]] bool outlasts_losses() const override { return true; }
  void note_change(const JobView& job, const NodeChange& change) override;
  [[nodiscard]] SimTime ready_after(SimTime time) const override;
  [[nodiscard]] bool is_ready(SimTime now) const override;

 private:
  struct Group {
    std::vector<NodeId> nodes{};  // ascending
    bool has_state = true;        // not while it joins and all wait for its transfer
  };
  struct Starting {
    std::vector<NodeId> nodes{};
    SimTime ready{};
  };

  void stop_broken(const Remains& remains);
  void join_ready(const JobState& job);
  void start_groups(const JobView& job, SimTime from);
  [[nodiscard]] std::vector<NodeId> without_place(const Membership& members) const;
  [[nodiscard]] SimDuration transfer(std::size_t receivers, std::size_t senders) const;
  [[nodiscard]] std::size_t usable_groups(std::size_t groups) const;
  [[nodiscard]] bool is_whole(const std::vector<NodeId>& nodes, const Membership& members) const;
  [[nodiscard]] Regrouped regrouped(const Remains& remains, std::size_t stopped, std::size_t joined) const;

  const RestartJob* job_;
  const ReplicaGroupSpeed* speed_;
  const RejoinSettings* settings_;
  NodeChoice choice_;
  Bytes share_of_node_;  // of the state, in a group
  std::vector<Group> groups_;
  std::vector<Starting> starting_;
};

}  // namespace goodput
