#include "models/synth/synthetic_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <tuple>
#include <utility>
#include <variant>

#include "models/megatron/megatron_rules.h"
#include "models/synth/lane_table.h"
#include "models/synth/straggler_injection.h"
#include "sim/base/float32.h"
#include "sim/base/random.h"
#include "sim/base/statistics.h"
#include "sim/engine/timing.h"

namespace goodput {
namespace {

constexpr double kMostRows = 5e7;  // 2.5 GB of them

LaneTable clean_values(const SyntheticStep& step, const TraceSettings& settings, std::uint64_t seed) {
  const LaneShape shape{static_cast<std::size_t>(settings.steps), static_cast<std::size_t>(step.dp)};
  LaneTable table(step.ops.size(), shape);
  for (std::size_t lane = 0; lane < shape.lanes(); ++lane) {
    RandomStream random(seed, "jitter", lane_key(lane % shape.steps, lane / shape.steps));
    for (OpId op = 0; op < step.ops.size(); ++op) {
      const double noise = settings.jitter > 0 ? std::exp(random.normal(0, settings.jitter)) : 1.0;
      table.values(op)[lane] = noise * step.value_s[op];
    }
  }
  return table;
}

std::vector<Straggler> completed(std::vector<Straggler> stragglers, const SyntheticStep& step) {
  for (Straggler& straggler : stragglers) {
    auto* lengths = std::get_if<SequenceLengths>(&straggler);
    if (lengths == nullptr) continue;
    if (!lengths->attention_share) lengths->attention_share = step.attention_share;
    GOODPUT_CHECK(lengths->attention_share, "a step without a plan requires attention_share");
  }
  return stragglers;
}

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
    if (auto problem = trace.append(row)) return Error{fmt::format("{}: {}", of.name(), *problem)};
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
  std::vector<std::pair<std::uint32_t, PartitionId>> groups;  // by op: the lowest number in its unit

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
      content.groups[number[op]] = {lowest, unit.partition};
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
  return Error{fmt::format(
      "the ops are too short to record: {:.3g} s into a step, float32 times do not show the order of the "
      "ops{}",
      *std::max_element(lane.end_s.begin(), lane.end_s.end()), found ? "" : " (" + found.error().what + ")")};
}

Status check_size(const SyntheticStep& step, const TraceSettings& settings) {
  const double rows = static_cast<double>(step.ops.size()) * step.dp * settings.steps;
  if (rows <= kMostRows) return Ok{};
  return Error{
      fmt::format("{} ops in each of {} steps and {} replicas make {:.3g} rows, but at most {:g} are "
                  "supported; write fewer steps",
                  step.ops.size(), settings.steps, step.dp, rows, kMostRows)};
}

}  // namespace

Result<SyntheticTrace> synthesize(const SyntheticStep& step, const std::vector<Straggler>& stragglers,
                                  const TraceSettings& settings, std::uint64_t seed, Truth truth) {
  GOODPUT_TRY_STATUS(check_stragglers(stragglers, {step.dp, step.pp, settings.steps}));
  GOODPUT_TRY_STATUS(check_size(step, settings));
  const LaneTable clean = clean_values(step, settings, seed);
  SyntheticTrace trace;
  trace.stragglers = completed(stragglers, step);
  const LaneTable table = with_stragglers(step, clean, trace.stragglers, seed);
  {
    TimingEngine times(step.graph, table.shape(), {}, TimingEngine::Keep::kAllTimes);
    times.propagate(table);
    trace.truth.recorded_s = mean(times.spans());
    GOODPUT_TRY_STATUS(check_graph(step, times));
    GOODPUT_TRY(trace.rows, write_rows(step, times));
  }
  find_slowdown(step, table, trace.truth);
  if (truth == Truth::kSlowdown) return trace;
  find_slowdown_of_parts(step, table, trace.truth);
  trace.truth.clean_s = mean_span(step, clean);
  for (std::size_t i = 0; i < stragglers.size(); ++i) {
    const double without = mean_span(step, with_stragglers(step, clean, trace.stragglers, seed, i));
    trace.truth.cost.push_back(1 - without / trace.truth.recorded_s);
  }
  return trace;
}

}  // namespace goodput
