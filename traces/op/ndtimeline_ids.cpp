#include "traces/op/ndtimeline_ids.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/float32.h"
#include "sim/ops/pass_order.h"
#include "traces/op/step_runs.h"
#include "traces/op/worker_ranks.h"

namespace goodput {
namespace {

constexpr int kMostChunks = 32767;  // what a row's mc holds
constexpr std::int64_t kMostSuggestedChunks = 16;
constexpr double kLeastMatchedShare = 0.99;
constexpr double kLongestInFloat32S = 3600;  // since the step began; float32 tells 0.2 ms apart there

// One row's place in recorded order.
struct Place {
  std::int64_t step;
  std::int32_t dp_rank;
  std::int16_t stage;
  double start_s;
  std::size_t row;

  [[nodiscard]] auto lane() const { return std::tie(step, dp_rank, stage); }
  friend bool operator<(const Place& a, const Place& b) {
    return std::tie(a.step, a.dp_rank, a.stage, a.start_s, a.row) <
           std::tie(b.step, b.dp_rank, b.stage, b.start_s, b.row);
  }
};

// The forward and backward passes of one worker in one step, in recorded order.
struct Lane {
  std::int64_t step = 0;
  std::int32_t dp_rank = 0;
  std::int16_t stage = 0;
  std::int64_t passes = 0;     // in each direction
  std::size_t first_pass = 0;  // in Passes::is_backward

  [[nodiscard]] std::string name() const {
    return fmt::format("step {}, dp rank {}, stage {}", step, dp_rank, stage);
  }
};

struct Passes {
  std::vector<Lane> lanes;  // by step
  std::vector<bool> is_backward;
  std::set<std::int64_t> gaps;         // steps in which passes are missing
  std::optional<std::string> problem;  // with the first lane that cannot be

  [[nodiscard]] std::size_t ops() const {
    std::size_t ops = 0;
    for (const Lane& lane : lanes) ops += 2 * static_cast<std::size_t>(lane.passes);
    return ops;
  }
};

struct Fit {
  PassOrder order = PassOrder::kOneForwardOneBackward;
  std::size_t matched = 0;
  std::string first_mismatch;
};

CleaningFinding steps_found(CleaningRule rule, const std::vector<std::int64_t>& steps) {
  return {rule, steps.size(), steps, {}};
}

// Workers of whose former ranks no row is left.
std::optional<CleaningFinding> replaced_workers(const OpTrace& trace, const ReplacedRanks& replaced) {
  std::map<std::pair<std::int32_t, std::int16_t>, std::set<std::int32_t>> ranks;
  for (std::size_t i = 0; i < trace.size() && !replaced.empty(); ++i) {
    const std::pair place(trace.dp_rank[i], trace.stage[i]);
    if (replaced.contains(place)) ranks[place].insert(trace.rank[i]);
  }
  CleaningFinding found{CleaningRule::kReplacedWorkers, 0, {}, {}};
  std::set<std::int64_t> steps;
  for (const auto& [place, of_place] : replaced) {
    if (!ranks.contains(place) || ranks.at(place).size() > 1) continue;
    if (++found.count == 1) {
      found.detail = fmt::format("the worker at dp_rank {}, stage {} is now rank {}", place.first,
                                 place.second, *ranks.at(place).begin());
    }
    steps.insert(of_place.begin(), of_place.end());
  }
  if (found.count == 0) return std::nullopt;
  found.steps.assign(steps.begin(), steps.end());
  return found;
}

// Leaves one run a step and one rank a worker and step.
void keep_one_recording(OpTrace& trace, IdGaps gaps, DerivedIds& derived) {
  RepeatedSteps repeated;
  if (gaps == IdGaps::kLeftToOthers) repeated = keep_last_runs(trace);
  const KeptRanks kept =
      keep_one_rank(trace, gaps == IdGaps::kLeftToOthers ? OtherTimes::kDropped : OtherTimes::kKept);
  derived.dropped_tp_rows = kept.peer_rows;
  for (const auto& [place, steps] : kept.replaced)
    repeated.replaced[place].insert(steps.begin(), steps.end());
  if (repeated.copied_rows > 0)
    derived.findings.push_back(
        {CleaningRule::kRepeatedRows, repeated.copied_rows, repeated.copied_steps, {}});
  if (!repeated.resolved.empty())
    derived.findings.push_back(steps_found(CleaningRule::kRepeatedSteps, repeated.resolved));
  if (!repeated.unordered.empty())
    derived.findings.push_back(steps_found(CleaningRule::kUnorderedRepeats, repeated.unordered));
  if (auto replaced = replaced_workers(trace, repeated.replaced))
    derived.findings.push_back(*std::move(replaced));
}

std::vector<Place> recorded_order(const OpTrace& trace) {
  std::vector<Place> places;
  places.reserve(trace.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    places.push_back({trace.step[i], trace.dp_rank[i], trace.stage[i], trace.start_s[i], i});
  }
  std::ranges::sort(places, std::less<>());
  return places;
}

// Epoch seconds would lose a minute in float32, which the published traces and the analysis use; so would
// clocks that are hours apart, and their times stay as they are. What was subtracted, by step.
std::map<std::int64_t, double> move_steps_to_zero(OpTrace& trace, const std::vector<Place>& places) {
  std::map<std::int64_t, double> origins;
  double latest = 0;
  for (std::size_t begin = 0; begin < places.size();) {
    std::size_t end = begin;
    double first = places[begin].start_s;
    for (; end < places.size() && places[end].step == places[begin].step; ++end) {
      first = std::min(first, places[end].start_s);
    }
    origins[places[begin].step] = first;
    for (; begin < end; ++begin) {
      double& start = trace.start_s[places[begin].row];
      start -= first;
      latest = std::max(latest, start);
    }
  }
  if (latest > kLongestInFloat32S) return origins;
  for (const Place& place : places) {
    trace.start_s[place.row] = round_to_float32(trace.start_s[place.row]);
    trace.duration_s[place.row] = round_to_float32(trace.duration_s[place.row]);
  }
  return origins;
}

using OpCounts = std::array<std::int64_t, kNdtimelineTypeCount>;

OpCounts count_ops(const OpTrace& trace, std::span<const Place> lane) {
  OpCounts counts{};
  for (const Place& place : lane) ++counts[index_of(trace.optype[place.row])];
  return counts;
}

// What cannot be about a lane's numbers of passes, if anything.
std::optional<std::string> impossible_counts(const Lane& lane, std::int64_t backwards,
                                             const PipelineShape& shape) {
  if (lane.passes != backwards) {
    return fmt::format(
        "{}: has {} forward-compute but {} backward-compute ops, which must be the same number; remove "
        "incompletely recorded steps",
        lane.name(), lane.passes, backwards);
  }
  if (shape.chunks == 1) return std::nullopt;
  if (lane.passes % shape.chunks != 0) {
    return fmt::format(
        "{}: the number of forward-compute ops, {}, is not a multiple of vpp_size {}; is vpp_size right?",
        lane.name(), lane.passes, shape.chunks);
  }
  if (lane.passes / shape.chunks % shape.stages != 0) {
    return fmt::format(
        "{}: the number of micro-batches, {}, is not a multiple of the number of stages, {}, as vpp_size {} "
        "requires; is vpp_size right?",
        lane.name(), lane.passes / shape.chunks, shape.stages, shape.chunks);
  }
  return std::nullopt;
}

// Sets the identity of the k-th op of its type in a lane with `count` of them.
void set_ids(OpTrace& trace, std::size_t row, std::int64_t k, std::int64_t count,
             const PipelineShape& shape) {
  std::int64_t mc = kUnset;
  std::int64_t mb_id = kUnset;
  const OpType type = trace.optype[row];
  if (is_pass_compute(type)) {
    const PassTarget target =
        type == OpType::kForwardCompute ? forward_target(shape, k) : backward_target(shape, k);
    mc = target.chunk;
    mb_id = target.micro_batch;
  } else if (type == OpType::kParamsAllGather) {
    mc = k * shape.chunks / count;
  } else if (type == OpType::kGradsReduceScatter) {
    mc = shape.chunks - 1 - k * shape.chunks / count;  // gradients of the last chunk are ready first
  } else if (type == OpType::kGc) {
    mb_id = 0;  // as in the published traces
  }
  const bool has_global_chunk = is_pass_compute(type);
  trace.seq_id[row] = static_cast<std::int32_t>(k);
  trace.mc[row] = static_cast<std::int16_t>(mc);
  trace.mb_id[row] = static_cast<std::int32_t>(mb_id);
  trace.gmc[row] =
      static_cast<std::int32_t>(has_global_chunk ? mc * shape.stages + trace.stage[row] : kUnset);
}

bool has_uneven_buckets(const OpCounts& counts, const PipelineShape& shape) {
  return counts[index_of(OpType::kParamsAllGather)] % shape.chunks != 0 ||
         counts[index_of(OpType::kGradsReduceScatter)] % shape.chunks != 0;
}

// Sets the identities of one worker's ops in one step and notes the order of its passes.
void derive_lane(OpTrace& trace, std::span<const Place> places, const PipelineShape& shape, Passes& passes,
                 DerivedIds& derived) {
  const OpCounts counts = count_ops(trace, places);
  const Place& first = places.front();
  const Lane lane{first.step, first.dp_rank, first.stage, counts[index_of(OpType::kForwardCompute)],
                  passes.is_backward.size()};
  if (auto problem = impossible_counts(lane, counts[index_of(OpType::kBackwardCompute)], shape)) {
    passes.gaps.insert(lane.step);
    if (!passes.problem) passes.problem = std::move(problem);
  }
  OpCounts next{};
  for (const Place& place : places) {
    const OpType type = trace.optype[place.row];
    set_ids(trace, place.row, next[index_of(type)]++, counts[index_of(type)], shape);
    if (is_pass_compute(type)) passes.is_backward.push_back(type == OpType::kBackwardCompute);
  }
  passes.lanes.push_back(lane);
  derived.uneven_buckets += has_uneven_buckets(counts, shape) ? 1 : 0;
}

// Leaves the lanes of steps in which passes are missing out of the comparison with the schedule.
void leave_gaps_out(Passes& passes) {
  for (std::size_t i = 1; i < passes.lanes.size(); ++i) {
    const Lane& before = passes.lanes[i - 1];
    const Lane& lane = passes.lanes[i];
    if (lane.step == before.step && lane.passes != before.passes) passes.gaps.insert(lane.step);
  }
  const auto has_gap = [&](const Lane& lane) { return passes.gaps.contains(lane.step); };
  if (passes.problem || !std::ranges::all_of(passes.lanes, has_gap)) std::erase_if(passes.lanes, has_gap);
}

// Counts the passes that stand where `order` has them.
Fit compare(const Passes& passes, PassOrder order, const PipelineShape& shape) {
  Fit fit{order, 0, {}};
  for (const Lane& lane : passes.lanes) {
    const std::int64_t leading = forwards_before_alternation(order, shape, lane.stage, lane.passes);
    for (std::int64_t i = 0; i < 2 * lane.passes; ++i) {
      const bool recorded = passes.is_backward[lane.first_pass + static_cast<std::size_t>(i)];
      if (recorded == is_backward_at(i, leading, lane.passes)) {
        ++fit.matched;
      } else if (fit.first_mismatch.empty()) {
        fit.first_mismatch = fmt::format("{}: compute op {} (in order of start) is unexpectedly a {} pass",
                                         lane.name(), i + 1, recorded ? "backward" : "forward");
      }
    }
  }
  return fit;
}

Fit best_fit(const Passes& passes, const PipelineShape& shape) {
  Fit alternating = compare(passes, PassOrder::kOneForwardOneBackward, shape);
  Fit forwards_first = compare(passes, PassOrder::kAllForwardsFirst, shape);
  return forwards_first.matched > alternating.matched ? forwards_first : alternating;
}

bool fits(const Fit& fit, const Passes& passes) {
  return static_cast<double>(fit.matched) >= kLeastMatchedShare * static_cast<double>(passes.ops());
}

// A number of chunks under which the trace would fit.
std::optional<std::int64_t> fitting_vpp_size(const Passes& passes, const PipelineShape& shape) {
  for (std::int64_t chunks = 1; chunks <= kMostSuggestedChunks; ++chunks) {
    const PipelineShape other{shape.stages, chunks};
    const bool possible = std::ranges::none_of(passes.lanes, [&](const Lane& lane) {
      return impossible_counts(lane, lane.passes, other).has_value();
    });
    if (possible && fits(best_fit(passes, other), passes)) return chunks;
  }
  return std::nullopt;
}

Error no_schedule(const Fit& fit, const Passes& passes, const PipelineShape& shape) {
  const std::string misfit = fmt::format(
      "only {} of {} compute ops follow the pipeline schedule \"{}\", but 99 % must; the first exception: {}",
      fit.matched, passes.ops(), name_of(fit.order, shape), fit.first_mismatch);
  const std::optional<std::int64_t> chunks = fitting_vpp_size(passes, shape);
  if (!chunks) return {misfit + "; does the job use a different pipeline schedule?"};
  return Error{fmt::format("{}; the recorded order fits vpp_size {}, which you can set in {}", misfit,
                           *chunks, kOption)}
      .of_option("meta");
}

Status check_unidentified(const OpTrace& trace) {
  const auto unset = std::ranges::count(trace.seq_id, static_cast<std::int32_t>(kUnset));
  if (static_cast<std::size_t>(unset) == trace.size()) return Ok{};
  return Error{fmt::format(
      "{} of {} ops have a seq_id and the others do not; read files with and without seq_id separately",
      trace.size() - static_cast<std::size_t>(unset), trace.size())};
}

}  // namespace

std::string DerivedIds::note() const {
  std::string text = fmt::format(
      "seq_id, mc and mb_id derived from the recorded order: {} of {} compute ops follow the pipeline "
      "schedule \"{}\"",
      matched, ops, schedule);
  if (gaps > 0) text += fmt::format("; steps with missing passes, not used for this: {}", gaps);
  if (dropped_tp_rows > 0)
    text += fmt::format("; ignored rows of tensor-parallel peers: {}", dropped_tp_rows);
  if (uneven_buckets > 0) {
    text += fmt::format(
        "; steps of workers in which the data-parallel buckets do not divide evenly over the model chunks: "
        "{}",
        uneven_buckets);
  }
  return text;
}

bool lacks_ids(const OpTrace& trace) {
  return std::ranges::find(trace.seq_id, static_cast<std::int32_t>(kUnset)) != trace.seq_id.end();
}

Result<DerivedIds> derive_ids(OpTrace& trace, int vpp_size, IdGaps gaps) {
  GOODPUT_CHECK(vpp_size >= 1, "vpp_size must be 1 or more");
  if (vpp_size > kMostChunks) {
    return Error{fmt::format("vpp_size must be from 1 to {}, not {}", kMostChunks, vpp_size)};
  }
  GOODPUT_TRY_STATUS(check_unidentified(trace));
  DerivedIds derived;
  keep_one_recording(trace, gaps, derived);
  const std::vector<Place> places = recorded_order(trace);
  const std::int64_t last_stage = trace.size() == 0 ? 0 : *std::ranges::max_element(trace.stage);
  const PipelineShape shape{last_stage + 1, vpp_size};
  Passes passes;
  for (auto begin = places.begin(); begin != places.end();) {
    const auto end =
        std::find_if(begin, places.end(), [&](const Place& place) { return place.lane() != begin->lane(); });
    derive_lane(trace, {begin, end}, shape, passes, derived);
    if (passes.problem && gaps == IdGaps::kRefused) return Error{*passes.problem};
    begin = end;
  }
  if (gaps == IdGaps::kLeftToOthers) leave_gaps_out(passes);
  if (passes.problem && passes.lanes.empty()) return Error{*passes.problem};
  const Fit fit = best_fit(passes, shape);
  if (!fits(fit, passes)) return no_schedule(fit, passes, shape);
  derived.were_float32 = times_are_float32(trace);
  derived.step_origin_s = move_steps_to_zero(trace, places);
  derived.ops = passes.ops();
  derived.gaps = passes.gaps.size();
  derived.matched = fit.matched;
  derived.schedule = name_of(fit.order, shape);
  return derived;
}

}  // namespace goodput
