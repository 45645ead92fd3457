#include "sim/engine/step_topology.h"

#include <algorithm>
#include <utility>

#include "sim/base/errors.h"

namespace goodput {

StepTopology::StepTopology(const OpGraph& graph, std::size_t lanes, Workers workers)
    : graph_(graph), lanes_(lanes), workers_(std::move(workers)) {
  if (workers_.of_op.empty()) workers_.of_op.assign(graph.size(), 0);
  GOODPUT_CHECK(workers_.of_op.size() == graph.size(), "every op must have a worker");
  if (graph.size() > 0) {
    const WorkerId last = *std::max_element(workers_.of_op.begin(), workers_.of_op.end());
    worker_count_ = last + (lanes_ - 1) * workers_.per_lane + 1;
  }
  facts_.resize(graph.size() + 1);
  link_successors();
  number_meetings();
}

void StepTopology::link_successors() {
  for (OpId op = 0; op < graph_.size(); ++op) {
    for (const OpId before : graph_.predecessors(op)) ++facts_[before + 1].first_successor;
  }
  for (OpId op = 0; op < graph_.size(); ++op) facts_[op + 1].first_successor += facts_[op].first_successor;
  successors_.resize(facts_.back().first_successor);
  std::vector<std::uint32_t> filled(graph_.size(), 0);
  for (OpId op = 0; op < graph_.size(); ++op) {
    for (const OpId before : graph_.predecessors(op)) {
      successors_[facts_[before].first_successor + filled[before]++] = op;
    }
  }
}

void StepTopology::number_meetings() {
  for (const ReplicaPartition& partition : graph_.partitions()) {
    blocks_.push_back(partition.expanded(lanes_));
  }
  for (std::uint32_t u = 0; u < graph_.units().size(); ++u) {
    const OpGraph::Unit& unit = graph_.units()[u];
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      facts_[op].unit = u;
      facts_[op].meeting = unit.is_group ? static_cast<std::uint32_t>(meeting_sizes_.size()) : kNoMeeting;
      facts_[op].partition = unit.partition;
    }
    if (!unit.is_group) continue;
    const ReplicaBlocks& blocks = blocks_[unit.partition];
    for (std::uint32_t block = 0; block < blocks.size(); ++block) {
      meeting_sizes_.push_back(static_cast<std::uint32_t>(unit.count * blocks.members_of(block).size()));
    }
  }
  GOODPUT_CHECK(meeting_sizes_.size() < kNoMeeting, "too many groups of ops");
}

}  // namespace goodput
