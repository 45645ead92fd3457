#include "traces/op/run_cutting.h"

#include <algorithm>
#include <limits>
#include <map>
#include <tuple>
#include <utility>

#include "sim/ops/op_type.h"

namespace goodput {
namespace {

constexpr double kLongGap = 0.5;  // of what is recorded beside it
constexpr int kMostCuts = 6;      // one within the other
constexpr std::array kOncePerStep = {OpType::kLayernormGradsAllReduce, OpType::kEmbeddingGradsAllReduce,
                                     OpType::kOptimizerClipMainGrad, OpType::kOptimizer};
// As many in every step, whatever its micro-batches.
constexpr std::array kBuckets = {OpType::kParamsAllGather, OpType::kGradsReduceScatter};

// Time in which nothing is recorded.
struct IdleGap {
  std::size_t at = 0;  // the first of the rows behind it; 0: there is none
  double idle_s = 0;
  double busy_before_s = 0;
  double busy_after_s = 0;

  [[nodiscard]] bool is_long() const {
    return at > 0 && idle_s >= kLongGap * std::max(busy_before_s, busy_after_s);
  }
};

double end_of_op(const OpTrace& trace, std::size_t row) {
  return trace.start_s[row] + std::max(0.0, trace.duration_s[row]);
}

IdleGap longest_gap(const OpTrace& trace, RunRows rows) {
  IdleGap longest;
  double busy = 0;
  double busy_until = -std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double start = trace.start_s[rows[i]];
    const double end = end_of_op(trace, rows[i]);
    if (i > 0 && start - busy_until > longest.idle_s) longest = {i, start - busy_until, busy, 0};
    busy += std::max(0.0, end - std::max(start, busy_until));
    busy_until = std::max(busy_until, end);
  }
  longest.busy_after_s = busy - longest.busy_before_s;
  return longest;
}

double last_end(const OpTrace& trace, RunRows rows) {
  double end = -std::numeric_limits<double>::infinity();
  for (const std::size_t row : rows) end = std::max(end, end_of_op(trace, row));
  return end;
}

// Whether long idle times set the run off from the rest of the step.
bool is_set_off(const OpTrace& trace, RunRows step, RunRows run) {
  const auto first = static_cast<std::size_t>(run.data() - step.data());
  const std::size_t behind = first + run.size();
  const double run_end = last_end(trace, run);
  const double least = kLongGap * (run_end - trace.start_s[run.front()]);
  if (first > 0 && trace.start_s[run.front()] - last_end(trace, step.first(first)) < least) return false;
  return behind == step.size() || trace.start_s[step[behind]] - run_end >= least;
}

// What makes a run a complete one.
class Completeness {
 public:
  Completeness(const OpTrace& trace, const RowWorkers& workers, RunRows step, const PlaceOpCounts* want)
      : trace_(trace), workers_(workers), want_(want) {
    if (want_ == nullptr) all_ = count_place_ops(trace, workers, step);
  }

  [[nodiscard]] bool operator()(RunRows rows) const {
    if (rows.empty() || longest_gap(trace_, rows).is_long()) return false;
    const PlaceOpCounts counts = count_place_ops(trace_, workers_, rows);
    if (want_ != nullptr) return counts == *want_ && !has_single_op_twice(trace_, workers_, rows);
    return has_all_types(counts) && has_even_passes(counts) && !has_single_op_twice(trace_, workers_, rows);
  }

 private:
  [[nodiscard]] bool has_all_types(const PlaceOpCounts& counts) const {
    bool has_passes = false;
    for (std::size_t place = 0; place < counts.size(); ++place) {
      has_passes = has_passes || counts[place][index_of(OpType::kForwardCompute)] > 0;
      for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type) {
        if ((counts[place][type] > 0) != (all_[place][type] > 0)) return false;
      }
    }
    return has_passes;
  }

  const OpTrace& trace_;
  const RowWorkers& workers_;
  const PlaceOpCounts* want_;
  PlaceOpCounts all_;
};

// Begins of runs: the rows are cut at the longest idle time before a worker has more ops than `want`. Empty
// when that does not help.
std::vector<std::size_t> cut_at_excess(const OpTrace& trace, const RowWorkers& workers, RunRows rows,
                                       const PlaceOpCounts& want) {
  std::vector<std::size_t> begins = {0};
  PlaceOpCounts counts(workers.place_of_worker.size());  // by worker
  const auto exceeds = [&](std::size_t row) {
    const std::uint32_t worker = workers.of_row[row];
    const std::size_t type = index_of(trace.optype[row]);
    return ++counts[worker][type] > want[workers.place_of_worker[worker]][type];
  };
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (!exceeds(rows[i])) continue;
    const IdleGap gap = longest_gap(trace, rows.subspan(begins.back(), i + 1 - begins.back()));
    if (gap.at == 0) return {};
    begins.push_back(begins.back() + gap.at);
    counts.assign(counts.size(), {});
    for (std::size_t k = begins.back(); k <= i; ++k) {
      if (exceeds(rows[k])) return {};
    }
  }
  return begins;
}

std::optional<RunRows> last_run_by_excess(const OpTrace& trace, const RowWorkers& workers, RunRows step,
                                          const PlaceOpCounts& want, const Completeness& is_complete) {
  std::vector<std::size_t> begins = cut_at_excess(trace, workers, step, want);
  for (std::size_t end = step.size(); !begins.empty(); begins.pop_back()) {
    const RunRows run = step.subspan(begins.back(), end - begins.back());
    if (is_complete(run)) return run;
    end = begins.back();
  }
  return std::nullopt;
}

std::optional<RunRows> last_run_by_gaps(const OpTrace& trace, RunRows rows, const Completeness& is_complete,
                                        int cuts = kMostCuts) {
  if (is_complete(rows)) return rows;
  const IdleGap gap = longest_gap(trace, rows);
  if (gap.at == 0 || cuts == 0) return std::nullopt;
  if (auto run = last_run_by_gaps(trace, rows.subspan(gap.at), is_complete, cuts - 1)) return run;
  return last_run_by_gaps(trace, rows.first(gap.at), is_complete, cuts - 1);
}

// Whether the ops of a step show, without regard to time, that it was run more than once.
bool is_repeated(const OpTrace& trace, const RowWorkers& workers, RunRows step, const PlaceOpCounts* want) {
  if (has_single_op_twice(trace, workers, step)) return true;
  if (want == nullptr) return false;
  const PlaceOpCounts counts = count_place_ops(trace, workers, step);
  for (std::size_t place = 0; place < counts.size(); ++place) {
    for (const OpType type : kBuckets) {
      if (counts[place][index_of(type)] > (*want)[place][index_of(type)]) return true;
    }
  }
  return false;
}

}  // namespace

RowWorkers::RowWorkers(const OpTrace& trace) {
  std::map<std::tuple<std::int32_t, std::int16_t, std::int32_t>, std::uint32_t> numbers;
  std::map<std::pair<std::int32_t, std::int16_t>, std::uint32_t> place_numbers;
  of_row.reserve(trace.size());
  for (std::size_t row = 0; row < trace.size(); ++row) {
    const bool as_before = row > 0 && trace.rank[row] == trace.rank[row - 1] &&
                           trace.dp_rank[row] == trace.dp_rank[row - 1] &&
                           trace.stage[row] == trace.stage[row - 1];
    if (as_before) {
      of_row.push_back(of_row.back());
      continue;
    }
    const auto [at, is_first] = numbers.try_emplace({trace.dp_rank[row], trace.stage[row], trace.rank[row]},
                                                    static_cast<std::uint32_t>(numbers.size()));
    of_row.push_back(at->second);
    if (!is_first) continue;
    const auto place = place_numbers.try_emplace({trace.dp_rank[row], trace.stage[row]},
                                                 static_cast<std::uint32_t>(place_numbers.size()));
    place_of_worker.push_back(place.first->second);
  }
  places = static_cast<std::uint32_t>(place_numbers.size());
}

PlaceOpCounts count_place_ops(const OpTrace& trace, const RowWorkers& workers, RunRows rows) {
  PlaceOpCounts by_worker(workers.place_of_worker.size());
  for (const std::size_t row : rows) ++by_worker[workers.of_row[row]][index_of(trace.optype[row])];
  PlaceOpCounts counts(workers.places);
  for (std::size_t worker = 0; worker < by_worker.size(); ++worker) {
    auto& most = counts[workers.place_of_worker[worker]];
    for (std::size_t type = 0; type < kNdtimelineTypeCount; ++type)
      most[type] = std::max(most[type], by_worker[worker][type]);
  }
  return counts;
}

bool has_single_op_twice(const OpTrace& trace, const RowWorkers& workers, RunRows rows) {
  const PlaceOpCounts counts = count_place_ops(trace, workers, rows);
  return std::any_of(counts.begin(), counts.end(), [](const auto& place) {
    return std::any_of(kOncePerStep.begin(), kOncePerStep.end(),
                       [&](OpType type) { return place[index_of(type)] > 1; });
  });
}

bool has_even_passes(const PlaceOpCounts& counts) {
  std::uint32_t passes = 0;
  for (const auto& place : counts) {
    const std::uint32_t forwards = place[index_of(OpType::kForwardCompute)];
    if (forwards != place[index_of(OpType::kBackwardCompute)]) return false;
    if (forwards > 0 && passes > 0 && forwards != passes) return false;
    passes = std::max(passes, forwards);
  }
  return true;
}

bool has_long_gap(const OpTrace& trace, RunRows rows) {
  return longest_gap(trace, rows).is_long();
}

std::optional<RunRows> find_last_run(const OpTrace& trace, const RowWorkers& workers, RunRows step,
                                     const PlaceOpCounts* want) {
  const Completeness is_complete(trace, workers, step, want);
  std::optional<RunRows> run;
  if (want != nullptr) run = last_run_by_excess(trace, workers, step, *want, is_complete);
  if (!run) run = last_run_by_gaps(trace, step, is_complete);
  if (!run || run->size() == step.size()) return std::nullopt;
  if (!is_repeated(trace, workers, step, want) && !is_set_off(trace, step, *run)) return std::nullopt;
  return run;
}

}  // namespace goodput
