// How a job goes on without a restart: a part of RestartPolicy (models/policy/restart_policy.h).
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "sim/job/recovery_policy.h"

namespace goodput {

// What a job could go on with, after a loss or when nodes have joined.
struct Remains {
  const JobState& job;
  std::span<const NodeId> used;  // until now, ascending
  std::span<const NodeId> left;  // of these, those that may be used still and hold what they held
  bool has_lost = false;         // one of those in use; else others are to be used for other reasons
};

struct Regrouped {
  std::vector<NodeId> nodes{};  // that train from now on, ascending
  bool grows = false;           // because nodes joined, and none was lost
  Phases phases{};
};

class Regrouping {
 public:
  virtual ~Regrouping() = default;

  // After a (re)start on these nodes, ascending: who holds what.
  virtual void place(std::span<const NodeId> used) = 0;

  // None: it takes a restart.
  [[nodiscard]] virtual std::optional<Regrouped> go_on(const Remains& remains) = 0;

  // Whether a loss before the phases of go_on() are over is one like any other; else it means a restart.
  [[nodiscard]] virtual bool outlasts_losses() const { return false; }

  // ---- Nodes that start beside the training, and join it at the end of a step. By default there are none.

  // While the job trains or recovers; go_on() follows where it lost nodes in use.
  virtual void note_change(const JobView& /*job*/, const NodeChange& /*change*/) {}
  // The first time later than that at which some will have started.
  [[nodiscard]] virtual SimTime ready_after(SimTime /*time*/) const { return kNoTime; }
  // Whether go_on() would train on more nodes with those that have.
  [[nodiscard]] virtual bool is_ready(SimTime /*now*/) const { return false; }
};

}  // namespace goodput
