#include "sim/engine/timing.h"

#include <algorithm>
#include <limits>

#include "sim/base/errors.h"

namespace goodput {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double at(lanes::Values values, std::size_t lane) {
  return values.row != nullptr ? values.row[lane] : values.constant;
}

std::vector<double> over_replicas(const std::vector<double>& by_lane, LaneShape shape,
                                  const double& (*better)(const double&, const double&)) {
  std::vector<double> by_step(by_lane.begin(), by_lane.begin() + static_cast<std::ptrdiff_t>(shape.steps));
  for (std::size_t replica = 1; replica < shape.replicas; ++replica) {
    for (std::size_t step = 0; step < shape.steps; ++step) {
      by_step[step] = better(by_step[step], by_lane[shape.lane(step, replica)]);
    }
  }
  return by_step;
}

}  // namespace

void synchronize(double* row, LaneShape shape, const ReplicaPartition& partition) {
  if (partition.is_apart() || shape.replicas == 1) return;
  if (partition.is_together()) {
    lanes::synchronize_replicas(row, shape.steps, shape.replicas);
    return;
  }
  lanes::synchronize_blocks(row, shape.steps, partition.blocks().members, partition.blocks().offsets);
}

TimingEngine::TimingEngine(const OpGraph& graph, LaneShape shape, std::span<const OpId> finish_ops, Keep keep)
    : graph_(graph), shape_(shape), keep_(keep), is_finish_(graph.size(), 0) {
  GOODPUT_CHECK(shape.steps > 0 && shape.replicas > 0, "a timing engine must have at least one lane");
  GOODPUT_CHECK(graph.fits(shape.replicas), "the groups of the graph are for a different number of replicas");
  for (const OpId op : finish_ops) is_finish_[op] = 1;
  assign_slots();
  scratch_.resize(2 * shape_.stride());
  meeting_.resize(shape_.stride());
}

// Rows live from the op to its last successor; a row that falls free is the next to be used, still in cache.
void TimingEngine::assign_slots() {
  slot_.resize(graph_.size());
  if (keep_ == Keep::kAllTimes) {
    for (OpId op = 0; op < graph_.size(); ++op) slot_[op] = op;
    ends_.resize(graph_.size() * shape_.stride());
    starts_.resize(ends_.size());
    return;
  }
  std::vector<std::uint32_t> last_use(graph_.unit_of().begin(), graph_.unit_of().end());
  for (OpId op = 0; op < graph_.size(); ++op) {
    for (const OpId before : graph_.predecessors(op)) {
      last_use[before] = std::max(last_use[before], graph_.unit_of()[op]);
    }
  }
  std::vector<std::vector<OpId>> dying(graph_.units().size());
  for (OpId op = 0; op < graph_.size(); ++op) dying[last_use[op]].push_back(op);
  std::vector<std::uint32_t> free;
  std::uint32_t slots = 0;
  for (std::size_t u = 0; u < graph_.units().size(); ++u) {
    const auto& unit = graph_.units()[u];
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      if (free.empty()) free.push_back(slots++);
      slot_[op] = free.back();
      free.pop_back();
    }
    for (const OpId op : dying[u]) free.push_back(slot_[op]);
  }
  ends_.resize(slots * shape_.stride());
}

void TimingEngine::propagate(const OpValues& values) {
  finish_.assign(shape_.stride(), -kInfinity);
  last_end_.assign(shape_.stride(), -kInfinity);
  first_start_.assign(shape_.stride(), kInfinity);
  for (const auto& unit : graph_.units()) {
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) start_op(op, values);
    end_unit(unit, values);
    track(unit);
  }
}

// Leaves the start of `op` in its end row.
void TimingEngine::start_op(OpId op, const OpValues& values) {
  const std::size_t n = shape_.stride();
  double* row = end_row(op);
  const auto before = graph_.predecessors(op);
  if (before.empty()) {
    std::fill_n(row, n, 0.0);
  } else {
    rows_.clear();
    for (const OpId predecessor : before) rows_.push_back(end_row(predecessor));
    lanes::latest(row, rows_.data(), rows_.size(), n);
  }
  const lanes::Values delay = values.delay(op, std::span(scratch_).first(n));
  if (delay.row != nullptr || delay.constant != 0) lanes::add(row, row, delay, n);
  if (keep_ != Keep::kFinishTimes) lanes::lower(first_start_.data(), row, n);
  if (keep_ == Keep::kAllTimes) std::copy_n(row, n, starts_.data() + op * n);
}

void TimingEngine::end_unit(const OpGraph::Unit& unit, const OpValues& values) {
  const std::size_t n = shape_.stride();
  const std::span first = std::span(scratch_).first(n);
  const std::span second = std::span(scratch_).last(n);
  const OpId op = unit.first;
  const ReplicaPartition& partition = graph_.partition_of(unit);
  if (unit.count == 2 && partition.is_apart()) {
    lanes::meet_pair(end_row(op), end_row(op + 1), values.value(op, first), values.value(op + 1, second), n);
    return;
  }
  if (unit.count == 1) {
    synchronize(end_row(op), shape_, partition);
    lanes::add(end_row(op), end_row(op), values.value(op, first), n);
    return;
  }
  rows_.clear();
  for (OpId member = op; member < op + unit.count; ++member) rows_.push_back(end_row(member));
  lanes::latest(meeting_.data(), rows_.data(), rows_.size(), n);
  synchronize(meeting_.data(), shape_, partition);
  for (OpId member = op; member < op + unit.count; ++member) {
    lanes::add(end_row(member), meeting_.data(), values.value(member, first), n);
  }
}

void TimingEngine::track(const OpGraph::Unit& unit) {
  for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
    if (keep_ != Keep::kFinishTimes) lanes::raise(last_end_.data(), end_row(op), shape_.stride());
    if (is_finish_[op] != 0) lanes::raise(finish_.data(), end_row(op), shape_.stride());
  }
}

std::vector<double> TimingEngine::finish_times() const {
  return over_replicas(finish_, shape_, std::max<double>);
}

std::vector<double> TimingEngine::spans() const {
  GOODPUT_CHECK(keep_ != Keep::kFinishTimes, "spans were not kept");
  std::vector<double> result = over_replicas(last_end_, shape_, std::max<double>);
  const std::vector<double> first = over_replicas(first_start_, shape_, std::min<double>);
  for (std::size_t step = 0; step < result.size(); ++step) result[step] -= first[step];
  return result;
}

std::span<const double> TimingEngine::starts(OpId op) const {
  GOODPUT_CHECK(keep_ == Keep::kAllTimes, "starts were not kept");
  return std::span(starts_).subspan(op * shape_.stride(), shape_.stride());
}

std::span<const double> TimingEngine::ends(OpId op) const {
  GOODPUT_CHECK(keep_ == Keep::kAllTimes, "ends were not kept");
  return {end_row(op), shape_.stride()};
}

std::vector<TimingEngine::PathElement> TimingEngine::critical_path(std::size_t step,
                                                                   const OpValues& values) const {
  GOODPUT_CHECK(keep_ == Keep::kAllTimes, "the critical path needs all times");
  std::vector<double> scratch(shape_.stride());
  OpId op = 0;
  std::size_t lane = step;
  for (std::size_t replica = 0; replica < shape_.replicas; ++replica) {
    for (OpId candidate = 0; candidate < graph_.size(); ++candidate) {
      const std::size_t candidate_lane = shape_.lane(step, replica);
      if (ends(candidate)[candidate_lane] > ends(op)[lane]) {
        op = candidate;
        lane = candidate_lane;
      }
    }
  }
  std::vector<PathElement> path;
  while (true) {
    path.push_back({op, lane, at(values.value(op, scratch), lane)});
    // In a group the path goes on at the member that started last, perhaps in another replica.
    const auto& unit = graph_.units()[graph_.unit_of()[op]];
    OpId latest_op = op;
    std::size_t latest_lane = lane;
    for (std::size_t replica = 0; replica < shape_.replicas; ++replica) {
      if (!graph_.partition_of(unit).in_same_block(lane / shape_.steps, replica)) continue;
      const std::size_t other = shape_.lane(step, replica);
      for (OpId member = unit.first; member < unit.first + unit.count; ++member) {
        if (starts(member)[other] > starts(latest_op)[latest_lane]) {
          latest_op = member;
          latest_lane = other;
        }
      }
    }
    path.back().length += at(values.delay(latest_op, scratch), latest_lane);
    const auto before = graph_.predecessors(latest_op);
    if (before.empty()) break;
    op = *std::max_element(before.begin(), before.end(),
                           [&](OpId a, OpId b) { return ends(a)[latest_lane] < ends(b)[latest_lane]; });
    lane = latest_lane;
  }
  std::reverse(path.begin(), path.end());
  return path;
}

}  // namespace goodput
