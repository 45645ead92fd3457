#include "tests/support/op_slack.h"

#include <algorithm>
#include <limits>

namespace goodput::testing {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double at(lanes::Values values, std::size_t lane) {
  return values.row != nullptr ? values.row[lane] : values.constant;
}

// By step.
std::vector<double> step_ends(const OpGraph& graph, const TimingEngine& timing) {
  const LaneShape shape = timing.shape();
  std::vector<double> ends(shape.steps, -kInfinity);
  for (OpId op = 0; op < graph.size(); ++op) {
    for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
      ends[lane % shape.steps] = std::max(ends[lane % shape.steps], timing.ends(op)[lane]);
    }
  }
  return ends;
}

// The earliest over the replicas of each step that meet, for all of them.
void meet_replicas(std::vector<double>& by_lane, LaneShape shape, const ReplicaPartition& partition) {
  const std::vector<double> before = by_lane;
  for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
    for (std::size_t replica = 0; replica < shape.replicas; ++replica) {
      if (!partition.in_same_block(lane / shape.steps, replica)) continue;
      by_lane[lane] = std::min(by_lane[lane], before[shape.lane(lane % shape.steps, replica)]);
    }
  }
}

}  // namespace

std::vector<double> compute_slack(const OpGraph& graph, const TimingEngine& timing, const OpValues& values) {
  const LaneShape shape = timing.shape();
  const std::size_t n = shape.stride();
  std::vector<double> required(graph.size() * n);  // latest end that does not move the step's end
  const std::vector<double> step_end = step_ends(graph, timing);
  for (OpId op = 0; op < graph.size(); ++op) {
    for (std::size_t lane = 0; lane < shape.lanes(); ++lane)
      required[op * n + lane] = step_end[lane % shape.steps];
  }
  std::vector<double> scratch(n);
  std::vector<double> required_start(n);
  for (auto unit = graph.units().rbegin(); unit != graph.units().rend(); ++unit) {
    std::fill(required_start.begin(), required_start.end(), kInfinity);
    for (OpId op = unit->first; op < unit->first + unit->count; ++op) {
      const lanes::Values value = values.value(op, scratch);
      for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
        required_start[lane] = std::min(required_start[lane], required[op * n + lane] - at(value, lane));
      }
    }
    meet_replicas(required_start, shape, graph.partition_of(*unit));
    for (OpId op = unit->first; op < unit->first + unit->count; ++op) {
      const lanes::Values delay = values.delay(op, scratch);
      for (const OpId before : graph.predecessors(op)) {
        for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
          double& bound = required[before * n + lane];
          bound = std::min(bound, required_start[lane] - at(delay, lane));
        }
      }
    }
  }
  for (OpId op = 0; op < graph.size(); ++op) {
    for (std::size_t lane = 0; lane < shape.lanes(); ++lane) required[op * n + lane] -= timing.ends(op)[lane];
  }
  return required;
}

}  // namespace goodput::testing
