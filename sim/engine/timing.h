// Longest-path timing of an OpGraph over many lanes at once: when every op starts and ends, what the step
// takes, and which ops make the step as long as it is.
//
// A lane is one execution of the graph. The lanes of one training step, one per replica, meet at its groups,
// in the blocks of each group's partition (sim/ops/replica_partition.h); steps never interact. Per lane, with
// origin 0:
//   start(v) = max over predecessors u of end(u), or 0, plus delay(v)
//   plain v:   end(v) = start(v) + value(v)                  value = duration
//   grouped v: end(v) = max of start over the group, in all replicas of the block, + value(v)
//                                                            value = transfer time
// Times are float64 in any one unit: traces use seconds, plans whole nanoseconds (exact below 2^53).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/lane_kernels.h"
#include "sim/ops/op_graph.h"

namespace goodput {

// Lane of (step, replica): replica * steps + step. Long rows are padded to whole vectors.
struct LaneShape {
  std::size_t steps = 1;
  std::size_t replicas = 1;

  friend bool operator==(const LaneShape&, const LaneShape&) = default;
  [[nodiscard]] std::size_t lanes() const { return steps * replicas; }
  [[nodiscard]] std::size_t stride() const { return lanes() < 64 ? lanes() : (lanes() + 7) / 8 * 8; }
  [[nodiscard]] std::size_t lane(std::size_t step, std::size_t replica) const {
    return replica * steps + step;
  }
};

// In each step, all replicas of a block get the latest of their entries in `row`. REQUIRES: the partition
// fits.
void synchronize(double* row, LaneShape shape, const ReplicaPartition& partition);

// What each op takes in each lane.
class OpValues {
 public:
  virtual ~OpValues() = default;

  // Duration of a plain op, transfer time of a grouped one; may be negative. A returned row has stride()
  // entries and is either `scratch`, filled, or memory that outlives the pass.
  [[nodiscard]] virtual lanes::Values value(OpId op, std::span<double> scratch) const = 0;

  // Time between the last predecessor's end and the start; may be negative.
  [[nodiscard]] virtual lanes::Values delay(OpId /*op*/, std::span<double> /*scratch*/) const { return {}; }
};

// Not thread-safe; engines over the same graph are independent.
class TimingEngine {
 public:
  enum class Keep : std::uint8_t {
    kFinishTimes,  // only when steps finish; rows are recycled once no later op needs them
    kStepTimes,    // also spans, which look at every op: half as fast
    kAllTimes,     // start and end of every op stay readable
  };

  // `finish_ops`: the ops whose latest end is the finish of a step. Keeps a reference: `graph` must outlive
  // the engine. REQUIRES: the graph fits the replicas.
  TimingEngine(const OpGraph& graph, LaneShape shape, std::span<const OpId> finish_ops, Keep keep);

  // Computes all times. O(ops * lanes).
  void propagate(const OpValues& values);

  // After propagate(), per step: the latest end of the finish ops over all replicas;
  [[nodiscard]] std::vector<double> finish_times() const;
  // and the latest end minus the earliest start over all ops and replicas. REQUIRES: not kFinishTimes.
  [[nodiscard]] std::vector<double> spans() const;

  // After propagate(), stride() entries. REQUIRES: kAllTimes.
  [[nodiscard]] std::span<const double> starts(OpId op) const;
  [[nodiscard]] std::span<const double> ends(OpId op) const;

  // An op on the longest path and the part of the path it accounts for: its value, plus the launch delay of
  // the op it waited for (itself, or the member of its group that started last).
  struct PathElement {
    OpId op;
    std::size_t lane;
    double length;
  };
  // From the first op to the one that ends last in `step`. Among equals it
  // stays with the op and replica it is at, else it takes the lowest.
  // REQUIRES: kAllTimes, and propagate(values) was the last pass.
  [[nodiscard]] std::vector<PathElement> critical_path(std::size_t step, const OpValues& values) const;

  [[nodiscard]] LaneShape shape() const { return shape_; }

 private:
  [[nodiscard]] double* end_row(OpId op) { return ends_.data() + slot_[op] * shape_.stride(); }
  [[nodiscard]] const double* end_row(OpId op) const { return ends_.data() + slot_[op] * shape_.stride(); }
  void assign_slots();
  void start_op(OpId op, const OpValues& values);
  void end_unit(const OpGraph::Unit& unit, const OpValues& values);
  void track(const OpGraph::Unit& unit);

  const OpGraph& graph_;
  LaneShape shape_;
  Keep keep_;
  std::vector<char> is_finish_;      // by op
  std::vector<std::uint32_t> slot_;  // by op: its row in ends_
  std::vector<double> ends_;         // rows of stride() entries
  std::vector<double> starts_;       // the same for starts; kAllTimes only
  std::vector<double> scratch_;      // two rows for values
  std::vector<double> meeting_;      // a row: when a group of more than two has met
  std::vector<double> finish_;       // by lane
  std::vector<double> last_end_;     // by lane
  std::vector<double> first_start_;  // by lane
  std::vector<const double*> rows_;  // predecessor rows of the op at hand
};

}  // namespace goodput
