#include "models/synth/straggler_injection.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "sim/base/random.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

std::size_t position(std::int32_t number) {
  return static_cast<std::size_t>(number);
}

// Changes a table as one straggler does.
class Injection {
 public:
  // `index`: of the straggler in its list, so that two of a kind draw different numbers.
  Injection(const SyntheticStep& step, LaneTable& table, std::uint64_t seed, std::string_view kind,
            std::size_t index)
      : step_(step),
        table_(table),
        shape_(table.shape()),
        seed_(seed),
        name_(fmt::format("{}/{}", kind, index)) {}

  void operator()(const SlowWorker& slow) {
    const auto first = static_cast<std::size_t>(slow.from_step - 1);
    const std::size_t end = slow.to_step == 0 ? shape_.steps : static_cast<std::size_t>(slow.to_step);
    for (OpId op = 0; op < step_.ops.size(); ++op) {
      const TraceOp& at = step_.ops[op];
      if (at.stage != slow.stage || !(is_pass_compute(at.type) || at.type == OpType::kOptimizer)) continue;
      for (std::size_t step = first; step < std::min(end, shape_.steps); ++step) {
        table_.values(op)[shape_.lane(step, position(slow.dp))] *=
            slow.factor_in(static_cast<std::int64_t>(step) + 1, static_cast<std::int64_t>(end));
      }
    }
  }

  void operator()(const SlowLink& link) {
    const auto first = static_cast<std::size_t>(link.from_step - 1);
    const std::size_t end = link.to_step == 0 ? shape_.steps : static_cast<std::size_t>(link.to_step);
    const bool is_everywhere = link.dp == SlowLink::kAllReplicas;
    const std::size_t first_replica = is_everywhere ? 0 : position(link.dp);
    const std::size_t end_replica = is_everywhere ? shape_.replicas : first_replica + 1;
    for (const OpId op : ops_of_link(link.stage)) {
      for (std::size_t step = first; step < std::min(end, shape_.steps); ++step) {
        for (std::size_t replica = first_replica; replica < end_replica; ++replica)
          table_.values(op)[shape_.lane(step, replica)] *= link.factor;
      }
    }
  }

  void operator()(const StagePartition& partition) {
    for (OpId op = 0; op < step_.ops.size(); ++op) {
      if (step_.ops[op].stage != partition.stage || !is_pass_compute(step_.ops[op].type)) continue;
      for (double& value : table_.values(op)) value *= partition.factor;
    }
  }

  void operator()(const SequenceLengths& lengths) {
    std::int32_t micro_batches = 0;
    for (const TraceOp& op : step_.ops) micro_batches = std::max(micro_batches, op.mb_id + 1);
    std::vector<double> costs;
    for_each_lane([&](std::size_t /*lane*/, RandomStream& random) {
      for (std::int32_t i = 0; i < micro_batches; ++i) {
        costs.push_back(draw_sequence_cost(lengths, step_.sequence_length, step_.sequences, random));
      }
    });
    // What a pass takes in the mean is the plan's business.
    const double usual = mean(costs);
    for (OpId op = 0; op < step_.ops.size(); ++op) {
      if (!is_pass_compute(step_.ops[op].type)) continue;
      for (std::size_t lane = 0; lane < shape_.lanes(); ++lane) {
        table_.values(op)[lane] *=
            costs[lane * position(micro_batches) + position(step_.ops[op].mb_id)] / usual;
      }
    }
  }

  void operator()(const GcPauses& pauses) {
    for (std::int32_t stage = 0; stage < step_.pp; ++stage) {
      std::vector<OpId> passes = ops_of(OpType::kForwardCompute, stage);
      if (pauses.passes == GcPauses::Passes::kAll) {
        const std::vector<OpId> backwards = ops_of(OpType::kBackwardCompute, stage);
        passes.insert(passes.end(), backwards.begin(), backwards.end());
      }
      for (std::size_t replica = 0; replica < shape_.replicas; ++replica) {
        RandomStream random(seed_, name_, replica * position(step_.pp) + position(stage));
        const auto every = static_cast<std::uint64_t>(pauses.every_steps);
        for (std::size_t step = random.below(every); step < shape_.steps; step += every) {
          const OpId op = passes[random.below(passes.size())];
          table_.values(op)[shape_.lane(step, replica)] +=
              to_seconds(pauses.pause) * random.uniform(0.8, 1.2);
        }
      }
    }
  }

  void operator()(const LaunchDelays& delays) {
    if (delays.mean == SimDuration{}) return;
    const bool is_first = delays.ops == LaunchDelays::Ops::kFirst;
    for_each_lane([&](std::size_t lane, RandomStream& random) {
      for (OpId op = 0; op < step_.ops.size(); ++op) {
        const TraceOp& at = step_.ops[op];
        if (is_first && !(at.type == OpType::kForwardCompute && at.stage == 0 && at.seq_id == 0)) continue;
        table_.delays(op)[lane] += random.exponential(1 / to_seconds(delays.mean));
      }
    });
  }

  void operator()(const NicFlap& flap) {
    std::size_t number = 0;
    for (const OpGraph::Unit& unit : step_.graph.units()) {
      ++number;
      if (!is_hit(unit, flap.stage)) continue;
      RandomStream random(seed_, name_, number);
      for (std::size_t step = 0; step < shape_.steps; ++step) {
        if (random.uniform() >= flap.share) continue;
        for (std::size_t replica = 0; replica < shape_.replicas; ++replica) {
          if (unit.partition == kReplicasApart && replica != position(flap.dp)) continue;
          for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
            table_.values(op)[shape_.lane(step, replica)] *= flap.factor;
          }
        }
      }
    }
  }

 private:
  template <typename Visit>
  void for_each_lane(Visit visit) const {
    for (std::size_t lane = 0; lane < shape_.lanes(); ++lane) {
      RandomStream random(seed_, name_, lane_key(lane % shape_.steps, lane / shape_.steps));
      visit(lane, random);
    }
  }

  [[nodiscard]] std::vector<OpId> ops_of(OpType type, std::int32_t stage) const {
    std::vector<OpId> ops;
    for (OpId op = 0; op < step_.ops.size(); ++op) {
      if (step_.ops[op].type == type && step_.ops[op].stage == stage) ops.push_back(op);
    }
    return ops;
  }

  // Both ends of the messages between the stage and the next one; the first stage follows the last.
  [[nodiscard]] std::vector<OpId> ops_of_link(std::int32_t stage) const {
    const std::pair<std::int32_t, std::int32_t> link = std::minmax(stage, (stage + 1) % step_.pp);
    std::vector<OpId> ops;
    for (const OpGraph::Unit& unit : step_.graph.units()) {
      const OpId other = unit.first + 1;
      if (unit.count != 2 || !is_message(step_.ops[unit.first].type)) continue;
      const std::pair<std::int32_t, std::int32_t> ends =
          std::minmax<std::int32_t>(step_.ops[unit.first].stage, step_.ops[other].stage);
      if (ends == link) ops.insert(ops.end(), {unit.first, other});
    }
    return ops;
  }

  // Messages to and from the stage; collectives among the replicas of the stage.
  [[nodiscard]] bool is_hit(const OpGraph::Unit& unit, std::int32_t stage) const {
    if (unit.partition == kReplicasTogether) {
      return unit.count == 1 && shape_.replicas > 1 && step_.ops[unit.first].stage == stage &&
             step_.ops[unit.first].type != OpType::kOptimizerClipMainGrad;
    }
    if (unit.count != 2) return false;
    if (step_.ops[unit.first].type == OpType::kEmbeddingGradsAllReduce) return false;
    return step_.ops[unit.first].stage == stage || step_.ops[unit.first + 1].stage == stage;
  }

  const SyntheticStep& step_;
  LaneTable& table_;
  LaneShape shape_;
  std::uint64_t seed_;
  std::string name_;
};

// What takes the place of a straggler to see what it costs: nothing, but an uneven partition becomes an even
// one of the same work.
void inject_instead(const Straggler& straggler, const SyntheticStep& step, LaneTable& table) {
  const auto* partition = std::get_if<StagePartition>(&straggler);
  if (partition == nullptr) return;
  const double even = 1 + (partition->factor - 1) / step.pp;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    if (!is_pass_compute(step.ops[op].type)) continue;
    for (double& value : table.values(op)) value *= even;
  }
}

}  // namespace

LaneTable with_stragglers(const SyntheticStep& step, LaneTable table,
                          const std::vector<Straggler>& stragglers, std::uint64_t seed,
                          std::optional<std::size_t> left_out) {
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    if (i == left_out) {
      inject_instead(stragglers[i], step, table);
    } else {
      std::visit(Injection(step, table, seed, kind_of(stragglers[i]), i), stragglers[i]);
    }
  }
  return table;
}

}  // namespace goodput
