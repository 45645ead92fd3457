// The slow, obvious reference of the policy lazarus (models/policy/lazarus.cpp) on plans with any number of
// pipeline stages. What a node holds is a set of experts, and each transfer is chosen from a list of all
// requests. A node that is lost and comes back has another life, and holds nothing. Linked into tests only.
//
// It shares the placement of one stage, step times and drawn times with the policy, and derives all else
// anew. The job keeps slow nodes, mapping is greedy, and the interval between checkpoints is fixed.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "models/job/job_model.h"
#include "models/migration/reconfiguration.h"
#include "models/placement_search/place_experts.h"
#include "models/policy/policy.h"
#include "sim/base/units.h"
#include "sim/job/recovery_policy.h"

namespace goodput::reference {

struct LazarusTerms {
  std::int32_t slots_per_gpu = 6;
  PlacementChoice placement{};
  std::int64_t rebalance_steps = 0;  // 0: never
  SimDuration gather{};              // from when the first node joins until the job grows
  ReconfigurationTiming migration{};
  SimDuration restart_detect{};
  SimDuration startup{};
  SimDuration step_overhead{};

  // ---- Checkpoints in storage.
  std::int64_t interval = 0;  // steps; 0: none
  bool saves_beside_training = false;
  std::int64_t storage_share = 1;  // checkpoints keep storage busy for at most 1 / this of the time
  BytesPerSecond write{1e9};
  BytesPerSecond read{1e9};
  BytesPerSecond snapshot{1e9};  // of a node
};

// What a job can do on its nodes.
class LazarusJob {
 public:
  // Keeps a reference to `job`.
  LazarusJob(const JobModel& job, const LazarusTerms& terms);

  struct Stage {
    std::vector<std::size_t> layers{};  // with experts
    Bytes dense{};                      // of a node: all state that is not routed experts
  };
  [[nodiscard]] const std::vector<Stage>& stages() const { return stages_; }
  [[nodiscard]] Bytes expert() const { return expert_; }          // one, in one layer
  [[nodiscard]] Bytes checkpoint() const { return checkpoint_; }  // a whole one

  // Nodes that the job uses of those that are there; 0: it waits.
  [[nodiscard]] std::int32_t used(std::int32_t nodes) const;
  // Of so many used nodes, those of each stage. `left`: that each has already.
  [[nodiscard]] std::vector<std::int32_t> shares(std::int32_t used,
                                                 const std::vector<std::int32_t>& left) const;
  // Of so many used nodes, those of the stage with fewest.
  [[nodiscard]] std::int32_t narrowest(std::int32_t used) const;

  // What each place of a stage holds, as pairs of layer and expert.
  using Experts = std::set<std::pair<std::size_t, std::int32_t>>;
  [[nodiscard]] std::vector<Experts> experts_of_places(std::size_t stage, std::int32_t nodes,
                                                       std::size_t window) const;

  // With experts placed for the loads of window `placed_for`, while the loads are those of `window`.
  // `slowest`: speed of the slowest node.
  [[nodiscard]] StepTime step(std::int32_t nodes_of_stage, std::size_t placed_for, std::size_t window,
                              double slowest) const;

 private:
  [[nodiscard]] std::int64_t micro_batches(std::int32_t nodes_of_stage) const;
  [[nodiscard]] bool holds_every_expert(std::int32_t nodes_of_stage) const;
  // By layer of the stage.
  [[nodiscard]] std::vector<PlacedLayer> place(std::size_t stage, std::int32_t nodes,
                                               std::size_t window) const;

  const JobModel& job_;
  const LazarusTerms& terms_;
  std::vector<Stage> stages_;
  std::int32_t unit_ = 1;  // nodes of a stage come in multiples of this
  Bytes expert_{};
  Bytes checkpoint_{};
  // A step takes long to compute.
  mutable std::map<std::tuple<std::int32_t, std::size_t, std::size_t, double>, StepTime> steps_;
};

class ReferenceLazarus final : public RecoveryPolicy {
 public:
  // Keeps references.
  ReferenceLazarus(const JobModel& job, const LazarusTerms& terms, const LazarusJob& nodes, const RunKey& run)
      : job_(job), terms_(terms), nodes_(nodes), draws_(run.seed, run.trial) {}

  [[nodiscard]] Response on_change(const JobView& job, const NodeChange& change) override;
  [[nodiscard]] Response on_wake(const JobView& job) override;
  [[nodiscard]] SimTime wake_at() const override { return gathered_at_; }
  [[nodiscard]] Course decide(const JobState& job) override;
  [[nodiscard]] Pace pace(std::int64_t step) override;
  [[nodiscard]] std::vector<PolicyMetric> metrics(std::int64_t steps) const override;

 private:
  struct Holder {
    NodeId node = 0;
    std::int64_t life = 0;
  };
  using Stage = std::vector<Holder>;  // by place
  struct Team {
    std::size_t window = 0;  // that experts are placed for
    std::vector<Stage> stages{};
  };
  struct Moves {
    Team team{};
    std::int64_t experts = 0;
    SimDuration transfer{};
  };
  // In a stage that moves, the number of a node is its old place. Nodes that joined have the next numbers.
  struct StageMove {
    Stage stage{};
    std::vector<Holder> free{};  // nodes without a place
    std::int64_t experts = 0;
    SimDuration transfer{};
  };

  [[nodiscard]] std::int64_t life_of(NodeId node) const;
  [[nodiscard]] bool is_left(const Holder& holder) const { return holder.life == life_of(holder.node); }
  [[nodiscard]] std::int32_t count_left(const Stage& stage) const;
  [[nodiscard]] bool could_grow(const JobView& job) const;
  [[nodiscard]] bool is_every_expert_held() const;

  [[nodiscard]] Moves move(std::int32_t used, const Membership& members, std::size_t window) const;
  [[nodiscard]] StageMove move_stage(std::size_t stage, const std::vector<Holder>& joined, std::int32_t share,
                                     std::size_t window) const;

  [[nodiscard]] Course wait();
  [[nodiscard]] Course restart(const JobState& job);
  [[nodiscard]] Course reconfigure(const JobState& job, bool has_lost);
  [[nodiscard]] Course rebalance(const JobState& job);
  [[nodiscard]] Course train(Cause cause, ResumeFrom from, const Phases& phases, const JobState& job);
  [[nodiscard]] CheckpointRules checkpoints(const StepTime& step, std::int64_t nodes) const;

  const JobModel& job_;
  const LazarusTerms& terms_;
  const LazarusJob& nodes_;
  ReconfigurationDraws draws_;
  std::map<NodeId, std::int64_t> losses_;
  Team held_;                       // who held state when the last course was decided
  Team team_;                       // that trains, or is about to
  std::vector<NodeId> team_nodes_;  // ascending
  double slowest_ = 1;              // of them, when the last course was decided
  bool has_begun_ = false;
  bool is_waiting_ = false;
  bool grows_ = false;
  std::optional<SimTime> lost_at_;  // the last loss of the team, until it trains on
  SimTime gathered_at_ = kNoTime;

  std::int64_t experts_moved_ = 0;
  std::int64_t most_experts_moved_ = 0;
  SimDuration longest_reconfiguration_{};
  SimDuration longest_rebalancing_{};
};

}  // namespace goodput::reference
