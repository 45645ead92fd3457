#include "models/synth/synthetic_truth.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

struct StepEnd {
  double finish_s = 0;  // of the optimizer
  double span_s = 0;    // of everything
};

// The longest paths through one step, op by op and replica by replica; value(op, replica).
class StepWalk {
 public:
  explicit StepWalk(const SyntheticStep& step) : step_(step) {}

  template <typename Value>
  StepEnd operator()(std::size_t replicas, Value value) {
    const std::size_t n = step_.ops.size();
    ends_.assign(n * replicas, 0);
    StepEnd last;
    for (const OpGraph::Unit& unit : step_.graph.units()) {
      double met_everywhere = 0;
      for (std::size_t replica = 0; replica < replicas; ++replica) {
        met_everywhere = std::max(met_everywhere, start_unit(unit, ends_.data() + replica * n));
      }
      for (std::size_t replica = 0; replica < replicas; ++replica) {
        double* ends = ends_.data() + replica * n;
        double met = met_everywhere;
        if (unit.partition != kReplicasTogether) {
          met = *std::max_element(ends + unit.first, ends + unit.first + unit.count);
        }
        for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
          ends[op] = met + value(op, replica);
          last.span_s = std::max(last.span_s, ends[op]);
          if (step_.ops[op].type == OpType::kOptimizer) last.finish_s = std::max(last.finish_s, ends[op]);
        }
      }
    }
    return last;
  }

 private:
  // Leaves the starts of the unit's ops where their ends will be; returns the latest.
  double start_unit(const OpGraph::Unit& unit, double* ends) const {
    double latest = 0;
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      double start = 0;
      for (const OpId before : step_.graph.predecessors(op)) start = std::max(start, ends[before]);
      ends[op] = start;
      latest = std::max(latest, start);
    }
    return latest;
  }

  const SyntheticStep& step_;
  std::vector<double> ends_;
};

using TypeValues = std::array<double, kNdtimelineTypeCount>;

// Mean of passes, optimizer and gc; median of communication; over all ops of the type.
TypeValues pooled_values(const SyntheticStep& step, const LaneTable& table) {
  std::array<std::vector<double>, kNdtimelineTypeCount> by_type;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    for (std::size_t lane = 0; lane < table.shape().lanes(); ++lane) {
      by_type[index_of(step.ops[op].type)].push_back(table.at(op, lane));
    }
  }
  TypeValues pooled{};
  for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
    if (by_type[type].empty()) continue;
    pooled[type] = kNdtimelineTypes[type].ideal == IdealStatistic::kMean ? mean(by_type[type])
                                                                         : take_median(by_type[type]);
  }
  return pooled;
}

class TruthFinder {
 public:
  TruthFinder(const SyntheticStep& step, const LaneTable& table)
      : step_(step), table_(table), shape_(table.shape()), pooled_(pooled_values(step, table)), walk_(step) {
    ideal_s_ = walk_(1, [&](OpId op, std::size_t) { return ideal(op); }).finish_s;
  }

  void slowdown(SyntheticTruth& truth) {
    double finish = 0;
    truth.replayed_s = 0;
    for (std::size_t step = 0; step < shape_.steps; ++step) {
      const StepEnd end =
          walk_(shape_.replicas, [&](OpId op, std::size_t replica) { return real(op, step, replica); });
      truth.replayed_s += end.span_s / steps();
      finish += end.finish_s / steps();
    }
    truth.ideal_s = ideal_s_;
    truth.slowdown = truth.replayed_s / ideal_s_;
    truth.launch_slowdown = truth.recorded_s / finish;
  }

  void parts(SyntheticTruth& truth) {
    for (std::int32_t stage = 0; stage < step_.pp; ++stage) {
      double finish = 0;
      for (std::size_t step = 0; step < shape_.steps; ++step) {
        finish += walk_(shape_.replicas, [&](OpId op, std::size_t replica) {
                    return step_.ops[op].stage == stage ? real(op, step, replica) : ideal(op);
                  }).finish_s;
      }
      truth.stage_slowdown.push_back(finish / steps() / ideal_s_);
    }
    for (std::size_t replica = 0; replica < shape_.replicas; ++replica) {
      for (std::int32_t stage = 0; stage < step_.pp; ++stage)
        truth.worker_slowdown.push_back(alone(replica, stage));
    }
  }

 private:
  // All other replicas are ideal and alike: one stands for them.
  double alone(std::size_t replica, std::int32_t stage) {
    double finish = 0;
    for (std::size_t step = 0; step < shape_.steps; ++step) {
      finish += walk_(std::min<std::size_t>(2, shape_.replicas), [&](OpId op, std::size_t other) {
                  return other == 0 && step_.ops[op].stage == stage ? real(op, step, replica) : ideal(op);
                }).finish_s;
    }
    return finish / steps() / ideal_s_;
  }

  [[nodiscard]] double ideal(OpId op) const { return pooled_[index_of(step_.ops[op].type)]; }
  [[nodiscard]] double real(OpId op, std::size_t step, std::size_t replica) const {
    return table_.at(op, shape_.lane(step, replica));
  }
  [[nodiscard]] double steps() const { return static_cast<double>(shape_.steps); }

  const SyntheticStep& step_;
  const LaneTable& table_;
  LaneShape shape_;
  TypeValues pooled_;
  StepWalk walk_;
  double ideal_s_ = 0;
};

}  // namespace

void find_slowdown(const SyntheticStep& step, const LaneTable& table, SyntheticTruth& truth) {
  TruthFinder(step, table).slowdown(truth);
}

void find_slowdown_of_parts(const SyntheticStep& step, const LaneTable& table, SyntheticTruth& truth) {
  TruthFinder(step, table).parts(truth);
}

}  // namespace goodput
