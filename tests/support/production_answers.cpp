#include "tests/support/production_answers.h"

#include <limits>

#include "sim/whatif/replay_values.h"

namespace goodput::testing {
namespace {

void add_meetings(const ReplicaPartition& partition, const std::string& op, std::size_t replicas,
                  reference::Dependencies& dependencies) {
  if (partition.is_together()) dependencies.dp_synchronised.insert(op);
  if (partition.is_extreme()) return;
  for (std::size_t dp = 0; dp < replicas; ++dp) {
    std::set<int> block;
    for (std::size_t other = 0; other < replicas; ++other) {
      if (partition.in_same_block(dp, other)) block.insert(static_cast<int>(other));
    }
    dependencies.blocks[op].push_back(block);
  }
}

}  // namespace

reference::Dependencies dependencies_of(const OpGraph& graph, const Recording& recording) {
  reference::Dependencies result;
  for (const OpGraph::Unit& unit : graph.units()) {
    std::set<std::string> members;
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      const std::string name = recording.name_of(op);
      members.insert(name);
      auto& deps = result.deps[name];
      for (const OpId before : graph.predecessors(op)) deps.insert(recording.name_of(before));
      add_meetings(graph.partition_of(unit), name, static_cast<std::size_t>(recording.dp_size), result);
    }
    if (unit.is_group) result.groups.push_back(members);
  }
  return result;
}

OpTimesByInstance op_times_of(const OpGraph& graph, const Recording& recording) {
  const IdealValues ideal = compute_ideal_values(recording, graph);
  TimingEngine ideal_step(graph, {1, 1}, {}, TimingEngine::Keep::kAllTimes);
  ideal_step.propagate(IdealReplay(ideal));
  OpTimesByInstance result;
  for (const StepBlock& block : recording.blocks) {
    TimingEngine nodelay(graph, block.shape, {}, TimingEngine::Keep::kAllTimes);
    nodelay.propagate(MixedReplay(block, ideal, {{InstanceBox::all(recording)}}, Side::kInside));
    const std::vector<double> delays = compute_launch_delays(recording, block, graph);
    for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
      const std::int64_t step = recording.steps[block.first_step + lane % block.shape.steps];
      const auto dp = static_cast<int>(lane / block.shape.steps);
      for (OpId op = 0; op < graph.size(); ++op) {
        const double transfer = graph.is_grouped(op) ? block.row(block.value_s, op)[lane]
                                                     : std::numeric_limits<double>::quiet_NaN();
        result[{step, dp, recording.name_of(op)}] = {transfer,
                                                     block.row(delays, op)[lane],
                                                     nodelay.starts(op)[lane],
                                                     nodelay.ends(op)[lane],
                                                     ideal_step.starts(op).front(),
                                                     ideal_step.ends(op).front()};
      }
    }
  }
  return result;
}

}  // namespace goodput::testing
