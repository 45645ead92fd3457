#include "sim/whatif/late_replica.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <optional>
#include <set>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr std::size_t kLanesAtOnce = 1024;  // of a replay: its live rows fit the L2 cache

// The two longest paths of each step between the same two meetings.
class LongestTwo {
 public:
  LongestTwo(LaneShape shape, std::vector<std::set<std::uint32_t>>& rivals)
      : shape_(shape), rivals_(rivals) {}

  void add(std::span<const double> paths) {
    for (std::size_t step = 0; step < shape_.steps; ++step) {
      Entry first;
      Entry second;
      for (std::size_t dp = 0; dp < shape_.replicas; ++dp) {
        const Entry entry{paths[shape_.lane(step, dp)], static_cast<std::uint32_t>(dp)};
        if (entry.length > first.length) {
          second = first;
          first = entry;
        } else if (entry.length > second.length) {
          second = entry;
        }
      }
      for (const Entry& entry : {first, second}) {
        if (entry.length > kNever) rivals_[step].insert(entry.dp_rank);
      }
    }
  }

 private:
  struct Entry {
    double length = kNever;
    std::uint32_t dp_rank = 0;
  };
  LaneShape shape_;
  std::vector<std::set<std::uint32_t>>& rivals_;
};

// Longest paths from one meeting to the next ones, in every lane of a block.
class PathsBetweenMeetings {
 public:
  PathsBetweenMeetings(const OpGraph& graph, const StepBlock& block, std::span<const OpId> finish_ops)
      : graph_(graph),
        block_(block),
        is_finish_(graph.size(), 0),
        ends_(graph.size() * block.shape.stride()),
        met_(block.shape.stride()),
        finish_(block.shape.stride()) {
    for (const OpId op : finish_ops) is_finish_[op] = 1;
  }

  // From the origin of the step: `source` is past the last unit; else from the meeting of that unit. Calls
  // visit(paths), an entry a lane, for every meeting that follows and the finish.
  template <typename Visit>
  void propagate(std::size_t source, Visit visit) {
    const bool from_origin = source == graph_.units().size();
    std::ranges::fill(finish_, kNever);
    if (!from_origin) std::fill_n(ends_.begin(), graph_.units()[source].first * stride(), kNever);
    for (std::size_t u = from_origin ? 0 : source; u < graph_.units().size(); ++u) {
      const OpGraph::Unit& unit = graph_.units()[u];
      if (u == source) {
        std::ranges::fill(met_, 0.0);
      } else {
        meet(unit, from_origin ? 0 : kNever);
        if (graph_.partition_of(unit).is_together()) {
          visit(std::span<const double>(met_));
          std::ranges::fill(met_, kNever);
        }
      }
      end_ops(unit, u == source);
    }
    visit(std::span<const double>(finish_));
  }

 private:
  [[nodiscard]] std::size_t stride() const { return block_.shape.stride(); }
  [[nodiscard]] double* row(OpId op) { return ends_.data() + op * stride(); }

  // Leaves the starts of the ops in their rows, and when the unit has met.
  void meet(const OpGraph::Unit& unit, double origin) {
    starts_.clear();
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      rows_.clear();
      for (const OpId before : graph_.predecessors(op)) rows_.push_back(row(before));
      if (rows_.empty()) {
        std::fill_n(row(op), stride(), origin);
      } else {
        lanes::latest(row(op), rows_.data(), rows_.size(), stride());
      }
      starts_.push_back(row(op));
    }
    lanes::latest(met_.data(), starts_.data(), starts_.size(), stride());
  }

  void end_ops(const OpGraph::Unit& unit, bool is_source) {
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      const double* start = unit.is_group || is_source ? met_.data() : row(op);
      lanes::add(row(op), start, {block_.row(block_.value_s, op).data(), 0}, stride());
      if (is_finish_[op] != 0) lanes::raise(finish_.data(), row(op), stride());
    }
  }

  const OpGraph& graph_;
  const StepBlock& block_;
  std::vector<char> is_finish_;
  std::vector<double> ends_;    // by op, a row each
  std::vector<double> met_;     // of the unit at hand
  std::vector<double> finish_;  // latest end of the finish ops
  std::vector<const double*> rows_;
  std::vector<const double*> starts_;
};

// Some lanes of a block, each late next to the rivals of its step: in a shape of (lanes x (1 + rivals)), the
// first of a row is late, the others are not. A rival that is the late one is late here too, and steps with
// fewer rivals have their last one several times: neither changes the latest of all.
class LateReplicaReplay final : public OpValues {
 public:
  LateReplicaReplay(const StepBlock& block, const std::vector<double>& delays_s,
                    const std::vector<std::vector<std::uint32_t>>& rivals, std::size_t first_lane,
                    LaneShape shape)
      : block_(block), delays_s_(delays_s) {
    lane_of_.assign(shape.stride(), 0);
    is_late_.assign(shape.stride(), 0);
    for (std::size_t i = 0; i < shape.steps; ++i) {
      const std::size_t late = first_lane + i;
      const std::size_t step = late % block.shape.steps;
      lane_of_[i] = late;
      is_late_[i] = 1;
      for (std::size_t r = 1; r < shape.replicas; ++r) {
        const std::size_t rival = rivals[step][std::min(r, rivals[step].size()) - 1];
        const std::size_t lane = block.shape.lane(step, rival);
        lane_of_[shape.lane(i, r)] = lane;
        is_late_[shape.lane(i, r)] = lane == late ? 1 : 0;
      }
    }
  }

  [[nodiscard]] lanes::Values value(OpId op, std::span<double> scratch) const override {
    const auto recorded = block_.row(block_.value_s, op);
    for (std::size_t i = 0; i < scratch.size(); ++i) scratch[i] = recorded[lane_of_[i]];
    return {scratch.data(), 0};
  }

  [[nodiscard]] lanes::Values delay(OpId op, std::span<double> scratch) const override {
    const auto recorded = block_.row(delays_s_, op);
    for (std::size_t i = 0; i < scratch.size(); ++i) {
      scratch[i] = is_late_[i] != 0 ? recorded[lane_of_[i]] : 0;
    }
    return {scratch.data(), 0};
  }

 private:
  const StepBlock& block_;
  const std::vector<double>& delays_s_;
  std::vector<std::size_t> lane_of_;  // of the block
  std::vector<char> is_late_;
};

std::size_t count_meetings(const OpGraph& graph) {
  return static_cast<std::size_t>(std::ranges::count_if(
      graph.units(), [&](const OpGraph::Unit& unit) { return graph.partition_of(unit).is_together(); }));
}

// Between meetings of some replicas nearly every replica has a longest path to somewhere.
bool meets_as_one(const OpGraph& graph) {
  return std::ranges::all_of(graph.partitions(), &ReplicaPartition::is_extreme);
}

}  // namespace

std::vector<std::vector<std::uint32_t>> find_rivals(const OpGraph& graph, const StepBlock& block,
                                                    std::span<const OpId> finish_ops) {
  GOODPUT_CHECK(meets_as_one(graph),
                "rivals can be found only if every group includes either one replica or all replicas");
  std::vector<std::set<std::uint32_t>> rivals(block.shape.steps);
  PathsBetweenMeetings paths(graph, block, finish_ops);
  LongestTwo longest(block.shape, rivals);
  const auto note = [&](std::span<const double> lengths) { longest.add(lengths); };
  const std::size_t units = graph.units().size();
  paths.propagate(units, note);
  for (std::size_t u = 0; u < units; ++u) {
    if (graph.partition_of(graph.units()[u]).is_together()) paths.propagate(u, note);
  }
  std::vector<std::vector<std::uint32_t>> result;
  for (const auto& of_step : rivals) result.emplace_back(of_step.begin(), of_step.end());
  return result;
}

bool has_rivals_worth_finding(const OpGraph& graph, std::size_t replicas) {
  constexpr std::size_t kFew = 128;  // all of them, one by one, take no time
  return meets_as_one(graph) && replicas > kFew && replicas > 4 * count_meetings(graph);
}

std::vector<double> late_replica_finishes(const OpGraph& graph, const StepBlock& block,
                                          const std::vector<double>& delays_s,
                                          std::span<const OpId> finish_ops) {
  const auto rivals = find_rivals(graph, block, finish_ops);
  std::size_t most = 0;
  for (const auto& of_step : rivals) {
    GOODPUT_CHECK(!of_step.empty(), "the finish of a step must have a longest path");
    most = std::max(most, of_step.size());
  }
  const std::size_t lanes = block.shape.lanes();
  const std::size_t at_once = std::clamp<std::size_t>(kLanesAtOnce / (1 + most), 1, lanes);
  std::vector<double> finishes;
  finishes.reserve(lanes);
  std::optional<TimingEngine> engine;
  for (std::size_t first = 0; first < lanes; first += at_once) {
    const LaneShape shape{std::min(at_once, lanes - first), 1 + most};
    if (!engine || engine->shape() != shape) {
      engine.emplace(graph, shape, finish_ops, TimingEngine::Keep::kFinishTimes);
    }
    engine->propagate(LateReplicaReplay(block, delays_s, rivals, first, shape));
    std::ranges::copy(engine->finish_times(), std::back_inserter(finishes));
  }
  return finishes;
}

}  // namespace goodput
