// Which groups of nodes train, and which start beside them: data-parallel replicas that a job can go without,
// as torchft and FT-HSDP (arXiv 2602.00277) do. A part of RestartPolicy.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "models/migration/expert_migration.h"
#include "models/policy/node_choice.h"
#include "models/policy/regrouping.h"
#include "models/policy/replica_group_speed.h"
#include "models/policy/restart_options.h"

namespace goodput {

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
