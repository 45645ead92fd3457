#include "sim/recording/recording.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/errors.h"
#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kClockErrorS = -0.01;       // the reference treats larger negative times as clock error
constexpr std::size_t kLanesPerBlock = 256;  // a row of 2 KiB: loops amortized, live rows fit the L2 cache

// In float32 recordings the reference subtracts in float32; so do we.
double difference(double a, double b, bool float32_times) {
  const double result = a - b;
  return float32_times ? round_to_float32(result) : result;
}

// Start and duration of every selected row to its place; ends and transfers follow in a streaming pass.
void scatter_rows(const OpTrace& trace, const TraceIndex& index, const OpGraph& graph,
                  std::span<const std::uint32_t> selected, Recording& recording) {
  constexpr std::uint32_t kSkipped = ~0U;
  std::vector<std::uint32_t> place(index.steps.size(), kSkipped);
  for (std::size_t i = 0; i < selected.size(); ++i) place[selected[i]] = static_cast<std::uint32_t>(i);
  std::vector<OpId> id_of(graph.size());
  for (OpId op = 0; op < graph.size(); ++op) id_of[graph.caller_index()[op]] = op;
  const std::size_t steps_per_block = recording.blocks.front().shape.steps;
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const std::uint32_t step = place[index.step_of_row[row]];
    if (step == kSkipped) continue;
    StepBlock& block = recording.blocks[step / steps_per_block];
    const std::size_t lane =
        block.shape.lane(step % steps_per_block, static_cast<std::size_t>(trace.dp_rank[row]));
    const std::size_t at = id_of[index.op_of_row[row]] * block.shape.stride() + lane;
    block.start_s[at] = trace.start_s[row];
    block.value_s[at] = trace.duration_s[row];
  }
}

void compute_ends(StepBlock& block, bool float32_times) {
  const std::size_t n = block.end_s.size();
  if (float32_times) {
    for (std::size_t i = 0; i < n; ++i) block.end_s[i] = end_of(block.start_s[i], block.value_s[i], true);
  } else {
    for (std::size_t i = 0; i < n; ++i) block.end_s[i] = end_of(block.start_s[i], block.value_s[i], false);
  }
}

// Replaces the durations of grouped ops by their transfer times.
void compute_transfers(StepBlock& block, const OpGraph& graph, bool float32_times) {
  const std::size_t n = block.shape.stride();
  std::vector<double> met(n);
  std::vector<const double*> starts;
  for (const auto& unit : graph.units()) {
    if (!unit.is_group) continue;
    starts.clear();
    for (OpId op = unit.first; op < unit.first + unit.count; ++op)
      starts.push_back(block.start_s.data() + op * n);
    lanes::latest(met.data(), starts.data(), starts.size(), n);
    synchronize(met.data(), block.shape, graph.partition_of(unit));
    for (OpId op = unit.first; op < unit.first + unit.count; ++op) {
      for (std::size_t lane = 0; lane < n; ++lane) {
        const double transfer = difference(block.end_s[op * n + lane], met[lane], float32_times);
        block.value_s[op * n + lane] = transfer <= kClockErrorS ? 0.0 : transfer;
      }
    }
  }
}

void compute_step_times(const StepBlock& block, Recording& recording) {
  const std::size_t n = block.shape.stride();
  std::vector<double> first(block.start_s.begin(), block.start_s.begin() + static_cast<std::ptrdiff_t>(n));
  std::vector<double> last(block.end_s.begin(), block.end_s.begin() + static_cast<std::ptrdiff_t>(n));
  for (std::size_t at = n; at < block.start_s.size(); at += n) {
    lanes::lower(first.data(), block.start_s.data() + at, n);
    lanes::raise(last.data(), block.end_s.data() + at, n);
  }
  for (std::size_t step = 0; step < block.shape.steps; ++step) {
    double origin = first[step];
    double end = last[step];
    for (std::size_t replica = 1; replica < block.shape.replicas; ++replica) {
      origin = std::min(origin, first[block.shape.lane(step, replica)]);
      end = std::max(end, last[block.shape.lane(step, replica)]);
    }
    recording.step_origin_s.push_back(origin);
    recording.step_base_s.push_back(difference(end, origin, recording.float32_times));
  }
}

// The middle between first start and last end of every worker's ops, by stage and lane.
std::vector<double> middles(const Recording& recording, const StepBlock& block) {
  const std::size_t n = block.shape.stride();
  const std::size_t all = static_cast<std::size_t>(recording.pp_size) * n;
  std::vector<double> first(all, std::numeric_limits<double>::infinity());
  std::vector<double> last(all, -std::numeric_limits<double>::infinity());
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const std::size_t at = static_cast<std::size_t>(recording.ops[op].stage) * n;
    lanes::lower(first.data() + at, block.start_s.data() + op * n, n);
    lanes::raise(last.data() + at, block.end_s.data() + op * n, n);
  }
  for (std::size_t i = 0; i < all; ++i) first[i] = (first[i] + last[i]) / 2;
  return first;
}

void shift_block(const Recording& recording, StepBlock& block, std::span<const ClockShift> shifts) {
  const std::size_t n = block.shape.stride();
  const auto stages = static_cast<std::size_t>(recording.pp_size);
  const std::vector<double> middle = middles(recording, block);
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    const auto stage = static_cast<std::size_t>(recording.ops[op].stage);
    for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
      const std::size_t worker = lane / block.shape.steps * stages + stage;
      const std::size_t step = block.first_step + lane % block.shape.steps;
      const ClockShift& shift = shifts[worker * recording.steps.size() + step];
      for (auto* array : {&block.start_s, &block.end_s}) {
        double& time = (*array)[op * n + lane];
        time -= shift.offset_s + shift.drift * (time - middle[stage * n + lane]);
      }
    }
  }
}

}  // namespace

std::string Recording::name_of(OpId op) const {
  return fmt::format("{}_{}_{}", types[ops[op].type].name, ops[op].seq_id, ops[op].stage);
}

void make_blocks(Recording& recording) {
  const auto replicas = static_cast<std::size_t>(recording.dp_size);
  const std::size_t per_block = std::max<std::size_t>(1, kLanesPerBlock / replicas);
  recording.blocks.clear();
  for (std::size_t first = 0; first < recording.steps.size(); first += per_block) {
    StepBlock block;
    block.first_step = first;
    block.shape = {std::min(per_block, recording.steps.size() - first), replicas};
    for (auto* array : {&block.start_s, &block.end_s, &block.value_s})
      array->resize(recording.ops.size() * block.shape.stride());
    recording.blocks.push_back(std::move(block));
  }
}

void derive_times(Recording& recording, const OpGraph& graph) {
  GOODPUT_CHECK(graph.fits(static_cast<std::size_t>(recording.dp_size)),
                "the graph belongs to a different job");
  recording.step_origin_s.clear();
  recording.step_base_s.clear();
  for (StepBlock& block : recording.blocks) {
    compute_ends(block, recording.float32_times);
    compute_transfers(block, graph, recording.float32_times);
    compute_step_times(block, recording);
  }
}

void shift_clocks(Recording& recording, const OpGraph& graph, std::span<const ClockShift> shifts) {
  GOODPUT_CHECK(shifts.size() == recording.ranks.size() * recording.steps.size(),
                "there must be one shift per worker and step");
  recording.float32_times = false;
  recording.step_origin_s.clear();
  recording.step_base_s.clear();
  for (StepBlock& block : recording.blocks) {
    shift_block(recording, block, shifts);
    compute_transfers(block, graph, false);
    compute_step_times(block, recording);
  }
}

Recording arrange(OpTrace trace, TraceIndex index, const OpGraph& graph,
                  std::span<const std::uint32_t> selected) {
  GOODPUT_CHECK(!selected.empty(), "at least one step must be selected");
  GOODPUT_CHECK(graph.size() == index.lane.ops.size(), "the graph belongs to a different trace");
  Recording recording;
  recording.dp_size = index.dp_size;
  recording.pp_size = index.lane.pp_size;
  recording.vpp_size = index.lane.vpp_size;
  recording.ranks = index.ranks;
  recording.float32_times = index.float32_times;
  recording.were_float32 = index.float32_times;
  for (const std::uint32_t step : selected) recording.steps.push_back(index.steps[step]);
  for (OpId op = 0; op < graph.size(); ++op) {
    recording.ops.push_back(index.lane.ops[graph.caller_index()[op]]);
    recording.pools.push_back(static_cast<std::uint32_t>(index_of(recording.ops[op].type)));
    if (recording.ops[op].type == OpType::kOptimizer) recording.finish_ops.push_back(op);
  }
  make_blocks(recording);
  scatter_rows(trace, index, graph, selected, recording);
  trace = {};
  index = {};
  derive_times(recording, graph);
  return recording;
}

std::vector<double> compute_launch_delays(const Recording& recording, const StepBlock& block,
                                          const OpGraph& graph) {
  const std::size_t n = block.shape.stride();
  std::vector<double> delays(block.start_s.size());
  std::vector<double> origin(n);
  for (std::size_t lane = 0; lane < block.shape.lanes(); ++lane) {
    origin[lane] = recording.step_origin_s[block.first_step + lane % block.shape.steps];
  }
  std::vector<double> ready(n);
  std::vector<const double*> ends;
  for (OpId op = 0; op < graph.size(); ++op) {
    ends.clear();
    for (const OpId before : graph.predecessors(op)) ends.push_back(block.end_s.data() + before * n);
    if (ends.empty()) ends.push_back(origin.data());
    lanes::latest(ready.data(), ends.data(), ends.size(), n);
    for (std::size_t lane = 0; lane < n; ++lane) {
      const double delay = difference(block.start_s[op * n + lane], ready[lane], recording.float32_times);
      delays[op * n + lane] = delay <= kClockErrorS ? 0.0 : delay;
    }
  }
  return delays;
}

IdealValues compute_ideal_values(const Recording& recording, const OpGraph& graph) {
  std::vector<std::vector<OpId>> ops_of_pool;
  for (OpId op = 0; op < recording.ops.size(); ++op) {
    if (recording.pools[op] >= ops_of_pool.size()) ops_of_pool.resize(recording.pools[op] + 1);
    ops_of_pool[recording.pools[op]].push_back(op);
  }
  IdealValues ideal(recording.ops.size());
  std::vector<double> values;
  for (const std::vector<OpId>& pool : ops_of_pool) {
    if (pool.empty()) continue;
    values.clear();
    for (const OpId op : pool) {
      for (const StepBlock& block : recording.blocks) {
        const auto row = block.row(block.value_s, op).first(block.shape.lanes());
        values.insert(values.end(), row.begin(), row.end());
      }
    }
    const bool is_mean = recording.types[recording.ops[pool.front()].type].ideal == IdealStatistic::kMean;
    const bool is_grouped = std::ranges::any_of(pool, [&](OpId op) { return graph.is_grouped(op); });
    double of_pool = is_mean ? mean(values) : take_median(values);
    if (is_grouped && recording.float32_times) of_pool = round_to_float32(of_pool);
    for (const OpId op : pool) ideal[op] = of_pool;
  }
  return ideal;
}

}  // namespace goodput
