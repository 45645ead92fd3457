// Who follows whom among the ops of a graph over several lanes, who meets whom, and on whose worker: laid out
// for what StepEngine (sim/engine/step_engine.h) asks at every event. Immutable; knows nothing of times.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "sim/engine/step_work.h"
#include "sim/ops/op_graph.h"

namespace goodput {

class StepTopology {
 public:
  // Keeps a reference: `graph` must outlive it. REQUIRES: a lane or more; every op has a worker, or none.
  StepTopology(const OpGraph& graph, std::size_t lanes, Workers workers);

  [[nodiscard]] const OpGraph& graph() const { return graph_; }
  [[nodiscard]] std::size_t lanes() const { return lanes_; }
  [[nodiscard]] std::size_t worker_count() const { return worker_count_; }
  [[nodiscard]] std::size_t instances() const { return graph_.size() * lanes_; }

  // Position of an instance in tables by instance, op-major.
  [[nodiscard]] std::size_t index(OpInstance at) const { return at.op * lanes_ + at.lane; }
  [[nodiscard]] WorkerId worker_of(OpInstance at) const {
    return workers_.of_op[at.op] + at.lane * workers_.per_lane;
  }
  // In its own lane.
  [[nodiscard]] std::span<const OpId> successors(OpId op) const {
    return {successors_.data() + facts_[op].first_successor,
            successors_.data() + facts_[op + 1].first_successor};
  }

  // A meeting is a group in a block of lanes: instances that start to move data once all are there.
  [[nodiscard]] bool is_grouped(OpId op) const { return facts_[op].meeting != kNoMeeting; }
  // Dense numbers. REQUIRES: the op is in a group.
  [[nodiscard]] std::size_t meeting_of(OpInstance at) const { return facts_[at.op].meeting + block_of(at); }
  // By meeting: how many instances it waits for.
  [[nodiscard]] std::span<const std::uint32_t> meeting_sizes() const { return meeting_sizes_; }
  [[nodiscard]] bool meets(OpInstance a, OpInstance b) const {
    return facts_[a.op].unit == facts_[b.op].unit && block_of(a) == block_of(b);
  }
  // Calls function(instance) for all that meet with `at`, itself included.
  template <typename Function>
  void for_each_peer(OpInstance at, const Function& function) const {
    const OpGraph::Unit& unit = graph_.units()[facts_[at.op].unit];
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      for (const std::uint32_t lane : blocks_[unit.partition].members_of(block_of(at)))
        function(OpInstance{op, lane});
    }
  }

 private:
  static constexpr std::uint32_t kNoMeeting = ~0U;
  struct OpFacts {
    std::uint32_t first_successor;  // in successors_; the end is the next op's
    std::uint32_t unit;
    std::uint32_t meeting;  // of the first block, or kNoMeeting
    PartitionId partition;
  };

  [[nodiscard]] std::uint32_t block_of(OpInstance at) const {
    return blocks_[facts_[at.op].partition].block_of[at.lane];
  }
  void link_successors();
  void number_meetings();

  const OpGraph& graph_;
  std::size_t lanes_;
  Workers workers_;
  std::size_t worker_count_ = 0;
  std::vector<OpFacts> facts_;  // by op, and one more
  std::vector<OpId> successors_;
  std::vector<ReplicaBlocks> blocks_;  // by partition
  std::vector<std::uint32_t> meeting_sizes_;
};

}  // namespace goodput
