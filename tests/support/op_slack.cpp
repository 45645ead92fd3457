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

// The earliest over the replicas of each step, for all of them.
void meet_replicas(std::vector<double>& by_lane, LaneShape shape) {
  std::vector<double> earliest(shape.steps, kInfinity);
  for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
    earliest[lane % shape.steps] = std::min(earliest[lane % shape.steps], by_lane[lane]);
  }
  for (std::size_t lane = 0; lane < shape.lanes(); ++lane) by_lane[lane] = earliest[lane % shape.steps];
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
    if (unit->sync == Sync::kReplicas) meet_replicas(required_start, shape);
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
