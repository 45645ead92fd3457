#include "models/synth/synthetic_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <tuple>
#include <utility>

#include "models/megatron/megatron_rules.h"
#include "models/schedule/schedule.h"
#include "models/step/planned_step.h"
#include "sim/base/float32.h"
#include "sim/base/statistics.h"
#include "sim/engine/timing.h"

namespace goodput {
namespace {

constexpr double kMostRows = 5e7;  // 2.5 GB of them

std::size_t size(std::int32_t count) {
  return static_cast<std::size_t>(count);
}

// What every op takes in every lane, and how late it starts.
class LaneTable final : public OpValues {
 public:
  LaneTable(const SyntheticStep& step, std::int32_t steps)
      : shape_{size(steps), size(step.dp)}, values_s_(step.ops.size() * shape_.stride()) {}

  [[nodiscard]] LaneShape shape() const { return shape_; }
  [[nodiscard]] std::span<double> values(OpId op) { return row(values_s_, op); }
  [[nodiscard]] std::span<double> delays(OpId op) {
    delays_s_.resize(values_s_.size());
    return row(delays_s_, op);
  }
  [[nodiscard]] double at(OpId op, std::size_t lane) const { return values_s_[op * shape_.stride() + lane]; }

  [[nodiscard]] lanes::Values value(OpId op, std::span<double> /*scratch*/) const override {
    return {values_s_.data() + op * shape_.stride(), 0};
  }
  [[nodiscard]] lanes::Values delay(OpId op, std::span<double> /*scratch*/) const override {
    if (delays_s_.empty()) return {};
    return {delays_s_.data() + op * shape_.stride(), 0};
  }

 private:
  std::span<double> row(std::vector<double>& table, OpId op) const {
    return std::span(table).subspan(op * shape_.stride(), shape_.lanes());
  }

  LaneShape shape_;
  std::vector<double> values_s_;
  std::vector<double> delays_s_;  // empty: none
};

// Draws of one lane do not move those of another.
std::uint64_t lane_key(std::size_t step, std::size_t replica) {
  return static_cast<std::uint64_t>(step) << 32 | replica;
}

LaneTable clean_values(const SyntheticStep& step, const TraceSettings& settings, std::uint64_t seed) {
  LaneTable table(step, settings.steps);
  const LaneShape shape = table.shape();
  for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
    RandomStream random(seed, "jitter", lane_key(lane % shape.steps, lane / shape.steps));
    for (OpId op = 0; op < step.ops.size(); ++op) {
      const double noise = settings.jitter > 0 ? std::exp(random.normal(0, settings.jitter)) : 1.0;
      table.values(op)[lane] = noise * step.value_s[op];
    }
  }
  return table;
}

// ---- Stragglers.

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
        table_.values(op)[shape_.lane(step, size(slow.dp))] *= slow.factor;
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
        table_.values(op)[lane] *= costs[lane * size(micro_batches) + size(step_.ops[op].mb_id)] / usual;
      }
    }
  }

  void operator()(const GcPauses& pauses) {
    for (std::int32_t stage = 0; stage < step_.pp; ++stage) {
      const std::vector<OpId> forwards = ops_of(OpType::kForwardCompute, stage);
      for (std::size_t replica = 0; replica < shape_.replicas; ++replica) {
        RandomStream random(seed_, name_, replica * size(step_.pp) + size(stage));
        const auto every = static_cast<std::uint64_t>(pauses.every_steps);
        for (std::size_t step = random.below(every); step < shape_.steps; step += every) {
          const OpId op = forwards[random.below(forwards.size())];
          table_.values(op)[shape_.lane(step, replica)] += pauses.pause_s * random.uniform(0.8, 1.2);
        }
      }
    }
  }

  void operator()(const LaunchDelays& delays) {
    if (!(delays.mean_s > 0)) return;
    const bool is_first = delays.ops == LaunchDelays::Ops::kFirst;
    for_each_lane([&](std::size_t lane, RandomStream& random) {
      for (OpId op = 0; op < step_.ops.size(); ++op) {
        const TraceOp& at = step_.ops[op];
        if (is_first && !(at.type == OpType::kForwardCompute && at.stage == 0 && at.seq_id == 0)) continue;
        table_.delays(op)[lane] += random.exponential(1 / delays.mean_s);
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
          if (unit.sync == Sync::kLane && replica != size(flap.dp)) continue;
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

  // Messages to and from the stage; collectives among the replicas of the stage.
  [[nodiscard]] bool is_hit(const OpGraph::Unit& unit, std::int32_t stage) const {
    if (unit.sync == Sync::kReplicas) {
      return unit.count == 1 && shape_.replicas > 1 && step_.ops[unit.first].stage == stage &&
             step_.ops[unit.first].type != OpType::kOptimizerClipMainGrad;
    }
    if (unit.count != 2 || unit.sync != Sync::kLane) return false;
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

// `left_out`: the one straggler that is not injected.
LaneTable with_stragglers(const SyntheticStep& step, LaneTable table,
                          const std::vector<Straggler>& stragglers, std::uint64_t seed,
                          std::optional<std::size_t> left_out = std::nullopt) {
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    if (i == left_out) {
      inject_instead(stragglers[i], step, table);
    } else {
      std::visit(Injection(step, table, seed, kind_of(stragglers[i]), i), stragglers[i]);
    }
  }
  return table;
}

// ---- What is true. The walk below knows nothing of the TimingEngine and the WhatIfEngine.

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
        if (unit.sync != Sync::kReplicas) {
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

using TypeValues = std::array<double, kOpTypeCount>;

// Mean of passes, optimizer and gc; median of communication; over all ops of the type.
TypeValues pooled_values(const SyntheticStep& step, const LaneTable& table) {
  std::array<std::vector<double>, kOpTypeCount> by_type;
  for (OpId op = 0; op < step.ops.size(); ++op) {
    for (std::size_t lane = 0; lane < table.shape().lanes(); ++lane) {
      by_type[index_of(step.ops[op].type)].push_back(table.at(op, lane));
    }
  }
  TypeValues pooled{};
  for (std::size_t type = 0; type < kOpTypeCount; ++type) {
    if (by_type[type].empty()) continue;
    pooled[type] =
        kOpTypes[type].ideal == IdealStatistic::kMean ? mean(by_type[type]) : take_median(by_type[type]);
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

double mean_span(const SyntheticStep& step, const LaneTable& table) {
  TimingEngine engine(step.graph, table.shape(), {}, TimingEngine::Keep::kStepTimes);
  engine.propagate(table);
  return mean(engine.spans());
}

// ---- Rows.

// As whatif sorts them: by stage, type, seq_id.
std::vector<OpId> in_template_order(const std::vector<TraceOp>& ops) {
  std::vector<OpId> order(ops.size());
  std::iota(order.begin(), order.end(), OpId{0});
  std::sort(order.begin(), order.end(), [&](OpId a, OpId b) {
    return std::tuple(ops[a].stage, ops[a].type, ops[a].seq_id) <
           std::tuple(ops[b].stage, ops[b].type, ops[b].seq_id);
  });
  return order;
}

Result<OpTrace> write_rows(const SyntheticStep& step, const TimingEngine& times) {
  const std::vector<OpId> order = in_template_order(step.ops);
  const LaneShape shape = times.shape();
  OpTrace trace;
  trace.reserve(order.size() * shape.lanes());
  const auto append = [&](OpId op, std::size_t at_step, std::size_t replica) -> Status {
    const TraceOp& of = step.ops[op];
    const std::size_t lane = shape.lane(at_step, replica);
    const double start = times.starts(op)[lane];
    OpRow row;
    row.dp_rank = static_cast<std::int64_t>(replica);
    row.stage = of.stage;
    row.rank = (std::int64_t{of.stage} * step.dp + row.dp_rank) * step.rank_gap;
    row.step = static_cast<std::int64_t>(at_step) + 1;
    row.optype = of.type;
    row.start_s = round_to_float32(start);
    row.duration_s = round_to_float32(times.ends(op)[lane] - start);
    row.seq_id = of.seq_id;
    row.mc = of.mc;
    row.mb_id = of.mb_id;
    row.gmc = of.gmc;
    if (auto problem = trace.append(row)) return Error{"", fmt::format("{}: {}", of.name(), *problem)};
    return Ok{};
  };
  for (std::size_t at_step = 0; at_step < shape.steps; ++at_step) {
    for (auto stage = order.begin(); stage != order.end();) {
      const auto end = std::find_if(stage, order.end(),
                                    [&](OpId op) { return step.ops[op].stage != step.ops[*stage].stage; });
      for (std::size_t replica = 0; replica < shape.replicas; ++replica) {
        for (auto op = stage; op != end; ++op) GOODPUT_TRY_STATUS(append(*op, at_step, replica));
      }
      stage = end;
    }
  }
  return trace;
}

// Edges and groups of a graph, the ops numbered by `number`.
struct GraphContent {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> edges;
  std::vector<std::pair<std::uint32_t, Sync>> groups;  // by op: the lowest number in its unit

  friend bool operator==(const GraphContent&, const GraphContent&) = default;
};

GraphContent content_of(const OpGraph& graph, std::span<const std::uint32_t> number) {
  GraphContent content;
  content.groups.resize(graph.size());
  for (const OpGraph::Unit& unit : graph.units()) {
    std::uint32_t lowest = number[unit.first];
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      lowest = std::min(lowest, number[op]);
      for (const OpId before : graph.predecessors(op)) content.edges.emplace_back(number[before], number[op]);
    }
    for (OpId op = unit.first; op < unit.first + unit.count; ++op)
      content.groups[number[op]] = {lowest, unit.sync};
  }
  std::sort(content.edges.begin(), content.edges.end());
  return content;
}

// Whether whatif will find the step's graph in the recorded times.
Status check_graph(const SyntheticStep& step, const TimingEngine& times) {
  const std::vector<OpId> order = in_template_order(step.ops);
  std::vector<std::uint32_t> number(order.size());
  TemplateLane lane;
  lane.pp_size = step.pp;
  lane.vpp_size = step.vpp;
  for (const OpId op : order) {
    number[op] = static_cast<std::uint32_t>(lane.ops.size());
    lane.ops.push_back(step.ops[op]);
    const double start = times.starts(op)[0];
    lane.start_s.push_back(round_to_float32(start));
    lane.end_s.push_back(end_of(lane.start_s.back(), round_to_float32(times.ends(op)[0] - start), true));
  }
  const Result<OpGraph> found = megatron::build_graph(lane);
  if (found && content_of(*found, found->caller_index()) == content_of(step.graph, number)) return Ok{};
  return Error{
      "",
      fmt::format("the ops are too short for recorded times: in float32, {:.3g} s into a step, these do not "
                  "show in which order ops ran{}",
                  *std::max_element(lane.end_s.begin(), lane.end_s.end()),
                  found ? "" : " (" + found.error().what + ")")};
}

Status check_size(const SyntheticStep& step, const TraceSettings& settings) {
  const double rows = static_cast<double>(step.ops.size()) * step.dp * settings.steps;
  if (rows <= kMostRows) return Ok{};
  return Error{
      "", fmt::format("{} ops in each of {} steps and {} replicas are {:.3g} rows, more than {:g}; write "
                      "fewer steps",
                      step.ops.size(), settings.steps, step.dp, rows, kMostRows)};
}

}  // namespace

Result<SyntheticStep> synthetic_step(const TrainingPlan& plan, const CostModel& cost, std::uint64_t seed) {
  const ParallelPlan& parallel = plan.parallel;
  const auto field = [&](std::string_view key) { return fmt::format("{} /parallel/{}", plan.file, key); };
  GOODPUT_TRY(const PipelineSchedule* schedule, find_schedule(parallel.schedule));
  if (!schedule->is_recordable()) {
    return Error{field("schedule"),
                 fmt::format("is \"{}\", whose ops NDTimeline has no names for; a trace needs gpipe, "
                             "1f1b or interleaved",
                             parallel.schedule)};
  }
  if (parallel.overlap_p2p && parallel.pp > 1) {
    return Error{field("overlap_p2p"),
                 "is true, but in NDTimeline's traces a receive waits for the pass before its "
                 "own; set it to false"};
  }
  GOODPUT_TRY(PlannedStep planned, build_planned_step(plan, cost, Granularity::kOps, seed));
  SyntheticStep step{{}, std::move(planned.graph), {}};
  GOODPUT_CHECK(planned.lanes.lanes() == 1, "ops as a whole cost the same on all expert-parallel ranks");
  step.dp = parallel.dp;
  step.pp = parallel.pp;
  step.vpp = parallel.vpp;
  step.rank_gap = parallel.tp * parallel.cp;
  step.sequence_length = parallel.sequence_length;
  step.sequences = parallel.micro_batch;
  step.tier = planned.tier;
  for (OpId op = 0; op < planned.ops.size(); ++op) {
    step.ops.push_back(planned.ops[op].op);
    step.value_s.push_back(1e-9 * planned.values_ns[planned.row_of[op] * planned.lanes.stride()]);
  }
  return step;
}

Result<SyntheticTrace> synthesize(const SyntheticStep& step, const std::vector<Straggler>& stragglers,
                                  const TraceSettings& settings, std::uint64_t seed, Truth truth) {
  GOODPUT_TRY_STATUS(check_stragglers(stragglers, {step.dp, step.pp, settings.steps}));
  GOODPUT_TRY_STATUS(check_size(step, settings));
  const LaneTable clean = clean_values(step, settings, seed);
  const LaneTable table = with_stragglers(step, clean, stragglers, seed);
  SyntheticTrace trace;
  {
    TimingEngine times(step.graph, table.shape(), {}, TimingEngine::Keep::kAllTimes);
    times.propagate(table);
    trace.truth.recorded_s = mean(times.spans());
    GOODPUT_TRY_STATUS(check_graph(step, times));
    GOODPUT_TRY(trace.rows, write_rows(step, times));
  }
  TruthFinder finder(step, table);
  finder.slowdown(trace.truth);
  if (truth == Truth::kSlowdown) return trace;
  finder.parts(trace.truth);
  trace.truth.clean_s = mean_span(step, clean);
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const double without = mean_span(step, with_stragglers(step, clean, stragglers, seed, i));
    trace.truth.cost.push_back(1 - without / trace.truth.recorded_s);
  }
  return trace;
}

}  // namespace goodput
