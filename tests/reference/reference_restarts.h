// The slow, obvious reference of policies that restart from checkpoints (models/policy/restart_policy.h and
// the parts it is put together from): one class, and rules as plain numbers. It remembers which life of a
// node holds what, where the production code keeps lists of those that are gone. Linked into tests only. Step
// times are the job model's; all else is derived anew.
//
// Without fail-slow nodes, and with fixed intervals between checkpoints.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/job/job_step.h"
#include "sim/base/units.h"
#include "sim/job/recovery_policy.h"

namespace goodput::reference {

// What the nodes of a job write when they save.
struct SaveOnNodes {
  SimDuration snapshot{};  // to their own memory
  SimDuration persist{};   // to storage
  Bytes bytes{};           // to storage
};

// What a partial checkpoint consists of. Expert e of E is written by node floor(e * nodes / E).
struct CheckpointParts {
  std::int32_t experts = 0;
  Bytes expert{};  // of all layers
  Bytes others{};
};

struct RestartRules {
  // ---- Which nodes train.
  std::int32_t max_training_nodes = 0;        // others idle as spares
  std::int32_t nodes_of_unit = 1;             // a replica of the plan, or an expert-parallel group
  std::optional<std::int32_t> fixed_nodes{};  // exactly so many train, or the job waits
  std::map<std::int32_t, StepTime> steps{};   // by number of nodes that train: all multiples of a unit
  // The same, of each replica, where the batch is fixed; empty where it grows with the replicas.
  std::map<std::int32_t, std::int64_t> micro_batches{};

  // ---- Restarts.
  bool starts_cold = false;
  SimDuration detect{};
  SimDuration startup{};
  std::optional<SimDuration> swap{};  // processes stay up over a restart; none: all start again
  bool has_hot_spares = false;        // those of spares are up as well
  std::optional<SimDuration>
      gather{};  // from the first node that joins until the job grows; none: it does not

  // ---- Checkpoints in storage.
  Bytes bytes{};                                        // of a whole one
  std::map<std::int32_t, SaveOnNodes> partial_saves{};  // by number of nodes; empty: all are whole
  CheckpointParts parts{};                              // of partial ones
  std::int64_t interval = 0;                            // steps; 0: none
  bool saves_beside_training = false;
  double storage_duty = 1;  // a power of 2, so that sums stay exact
  BytesPerSecond write{1e9};
  BytesPerSecond read{1e9};
  BytesPerSecond snapshot{1e9};  // of a node

  // ---- Checkpoints in the memory of nodes.
  std::int32_t replicas = 0;  // 0: none
  std::int64_t memory_interval = 1;
  SimDuration memory_stall{};
  BytesPerSecond fetch{1e9};  // of a node

  // ---- Expert-parallel groups that form anew without a restart.
  bool regroups = false;
  Bytes shard{};  // of the experts, that a node holds
  SimDuration regroup_detect{};
  SimDuration regroup{};
  SimDuration transfer_setup{};
  BytesPerSecond send{1e9};  // of a node
};

class ReferenceRestarts final : public RecoveryPolicy {
 public:
  // Keeps a reference.
  explicit ReferenceRestarts(const RestartRules& rules) : rules_(rules) {}

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override;
  [[nodiscard]] Response on_wake(const JobView& job) override;
  [[nodiscard]] SimTime wake_at() const override { return gathered_at_; }
  [[nodiscard]] Course decide(const JobState& job) override;
  [[nodiscard]] Pace pace(std::int64_t step) override;

 private:
  // A node that is lost and comes back has another life, and holds nothing.
  struct Member {
    NodeId node = 0;
    std::int64_t life = 0;
    std::int32_t shard = 0;
  };
  struct Place {
    NodeId node = 0;
    std::int64_t life = 0;
    bool is_filled = false;
  };

  [[nodiscard]] std::int64_t life_of(NodeId node) const;
  [[nodiscard]] std::int32_t train_on(std::int32_t nodes) const;
  [[nodiscard]] bool could_grow(const JobView& job) const;
  [[nodiscard]] std::vector<NodeId> survivors(const JobView& job) const;
  [[nodiscard]] std::vector<NodeId> take(const JobView& job, std::int32_t count) const;
  void form_team(const std::vector<NodeId>& nodes);

  [[nodiscard]] std::optional<Phases> regroup(const JobState& job, bool grows);
  [[nodiscard]] Course restart(const JobState& job);
  [[nodiscard]] Course wait();
  [[nodiscard]] Course train(Cause cause, ResumeFrom from, const Phases& phases);

  void fill_places();
  void move_places();
  [[nodiscard]] bool is_intact(const Place& place) const;
  [[nodiscard]] ResumeFrom newest_checkpoint() const;
  [[nodiscard]] SaveOnNodes whole_save(std::int32_t nodes) const;
  [[nodiscard]] SimDuration restore_time(ResumeFrom from, std::int32_t nodes) const;
  [[nodiscard]] SimDuration restore_time_of_parts() const;
  [[nodiscard]] CheckpointRules checkpoints(const StepTime& step, std::int32_t nodes) const;

  const RestartRules& rules_;
  std::map<NodeId, std::int64_t> losses_;
  std::vector<Member> team_;     // that trains, or is about to; ascending
  std::vector<Member> holders_;  // of copies in memory: the last team that trained
  std::vector<NodeId> nodes_;    // the same as team_
  std::vector<Place> places_;    // of checkpoints in memory
  bool has_begun_ = false;
  bool is_waiting_ = false;
  bool has_state_ = false;  // the team got through its restart
  bool grows_ = false;
  std::optional<SimTime> lost_at_;  // the last loss of the team, until it trains on
  SimTime gathered_at_ = kNoTime;
};

}  // namespace goodput::reference
