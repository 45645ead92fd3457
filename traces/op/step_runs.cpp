#include "traces/op/step_runs.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <optional>
#include <tuple>

#include "traces/op/run_cutting.h"

namespace goodput {
namespace {

// ---- Rows of a step that files hold several times.

using Group = std::pair<std::size_t, std::size_t>;  // begin and end of equal rows

// The further copies of what workers recorded in a step, when all their rows in it are there as often or a
// multiple of that: equal rows alone are no copies, for ops without ids may be alike.
std::vector<std::size_t> find_row_copies(const OpTrace& trace, const RowWorkers& workers, RunRows step) {
  const auto content = [&](std::size_t row) {
    return std::tuple(workers.of_row[row], trace.optype[row], trace.start_s[row], trace.duration_s[row]);
  };
  std::vector<std::size_t> rows(step.begin(), step.end());
  std::sort(rows.begin(), rows.end(), [&](std::size_t a, std::size_t b) {
    return std::tuple(content(a), a) < std::tuple(content(b), b);
  });
  std::vector<std::size_t> copies;
  std::vector<Group> groups;  // of one worker
  std::size_t times = 0;      // that it recorded everything
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && content(rows[end]) == content(rows[begin])) ++end;
    groups.emplace_back(begin, end);
    times = std::gcd(times, end - begin);
    if (end < rows.size() && workers.of_row[rows[end]] == workers.of_row[rows[begin]]) continue;
    for (const auto& [first, last] : groups) {
      for (std::size_t i = first + (last - first) / times; i < last; ++i) copies.push_back(rows[i]);
    }
    groups.clear();
    times = 0;
  }
  return copies;
}

// ---- Runs.

struct RecordedStep {
  std::int64_t step = 0;
  RunRows rows;
  bool is_one_run = false;
  const PlaceOpCounts* counts = nullptr;  // of one run
};

std::vector<std::size_t> rows_by_step_and_start(const OpTrace& trace) {
  struct Key {  // side by side: looked up row by row, they would cost twice the time
    std::int64_t step;
    double start_s;
    std::size_t row;
  };
  std::vector<Key> keys;
  keys.reserve(trace.size());
  for (std::size_t row = 0; row < trace.size(); ++row)
    keys.push_back({trace.step[row], trace.start_s[row], row});
  std::sort(keys.begin(), keys.end(), [](const Key& a, const Key& b) {
    return std::tie(a.step, a.start_s, a.row) < std::tie(b.step, b.start_s, b.row);
  });
  std::vector<std::size_t> rows;
  rows.reserve(keys.size());
  for (const Key& key : keys) rows.push_back(key.row);
  return rows;
}

// Steps that are one run share their counts in `known`.
std::vector<RecordedStep> find_steps(const OpTrace& trace, const RowWorkers& workers, RunRows rows,
                                     std::set<PlaceOpCounts>& known) {
  std::vector<RecordedStep> steps;
  for (std::size_t begin = 0, end = 0; begin < rows.size(); begin = end) {
    while (end < rows.size() && trace.step[rows[end]] == trace.step[rows[begin]]) ++end;
    RecordedStep step{trace.step[rows[begin]], rows.subspan(begin, end - begin)};
    PlaceOpCounts counts = count_place_ops(trace, workers, step.rows);
    step.is_one_run = has_even_passes(counts) && !has_single_op_twice(trace, workers, step.rows) &&
                      !has_long_gap(trace, step.rows);
    if (step.is_one_run) step.counts = &*known.insert(std::move(counts)).first;
    steps.push_back(step);
  }
  return steps;
}

// A trace by step, as long as its rows stay.
struct TraceSteps {
  RowWorkers workers;
  std::vector<std::size_t> rows;
  std::set<PlaceOpCounts> known;
  std::vector<RecordedStep> steps;

  explicit TraceSteps(const OpTrace& trace)
      : workers(trace), rows(rows_by_step_and_start(trace)), steps(find_steps(trace, workers, rows, known)) {}

  [[nodiscard]] std::size_t one_run() const {
    return static_cast<std::size_t>(std::ranges::count(steps, true, &RecordedStep::is_one_run));
  }
};

std::vector<bool> recorded_places(const PlaceOpCounts& counts) {
  std::vector<bool> places;
  for (const auto& of_place : counts)
    places.push_back(std::ranges::any_of(of_place, [](std::uint32_t count) { return count > 0; }));
  return places;
}

// The last complete run of steps[at], by what the nearest steps that are one run have, the earlier first;
// these are recorded by the same workers, or a part of the step could pass for all of it.
std::optional<RunRows> last_run(const OpTrace& trace, const RowWorkers& workers,
                                const std::vector<RecordedStep>& steps, std::size_t at) {
  const auto here = steps.begin() + static_cast<std::ptrdiff_t>(at);
  const std::vector<bool> places = recorded_places(count_place_ops(trace, workers, here->rows));
  const auto is_one_run = [&](const RecordedStep& step) {
    return step.is_one_run && recorded_places(*step.counts) == places;
  };
  const auto before = std::find_if(std::make_reverse_iterator(here), steps.rend(), is_one_run);
  const auto behind = std::find_if(here, steps.end(), is_one_run);
  if (before == steps.rend() && behind == steps.end())
    return find_last_run(trace, workers, here->rows, nullptr);
  std::optional<RunRows> run;
  if (before != steps.rend()) run = find_last_run(trace, workers, here->rows, before->counts);
  if (!run && behind != steps.end()) run = find_last_run(trace, workers, here->rows, behind->counts);
  return run;
}

// Takes the marks from rows of the step outside of `run`, and notes ranks that are not in it.
void drop_other_runs(const OpTrace& trace, const RecordedStep& step, RunRows run, std::vector<bool>& kept,
                     ReplacedRanks& replaced) {
  std::map<std::pair<std::int32_t, std::int16_t>, std::set<std::int32_t>> ranks;
  for (const std::size_t row : run) ranks[{trace.dp_rank[row], trace.stage[row]}].insert(trace.rank[row]);
  for (const std::size_t row : step.rows) kept[row] = false;
  for (const std::size_t row : run) kept[row] = true;
  for (const std::size_t row : step.rows) {
    const std::pair place(trace.dp_rank[row], trace.stage[row]);
    if (kept[row] || !ranks.contains(place) || ranks.at(place).contains(trace.rank[row])) continue;
    replaced[place].insert(step.step);
  }
}

// Looks at steps that are not one run: copies of a whole one make it none. Whether there were any.
bool drop_copies(OpTrace& trace, const TraceSteps& by_step, RepeatedSteps& repeated) {
  std::vector<bool> kept(trace.size(), true);
  for (const RecordedStep& step : by_step.steps) {
    if (step.is_one_run) continue;
    const std::vector<std::size_t> copies = find_row_copies(trace, by_step.workers, step.rows);
    if (copies.empty()) continue;
    for (const std::size_t row : copies) kept[row] = false;
    repeated.copied_rows += copies.size();
    repeated.copied_steps.push_back(step.step);
  }
  if (repeated.copied_rows > 0) keep_rows(trace, 0, kept);
  return repeated.copied_rows > 0;
}

void drop_runs(OpTrace& trace, const TraceSteps& by_step, RepeatedSteps& repeated) {
  std::vector<const RecordedStep*> unordered;
  std::vector<bool> kept(trace.size(), true);
  for (std::size_t at = 0; at < by_step.steps.size(); ++at) {
    const RecordedStep& step = by_step.steps[at];
    if (step.is_one_run) continue;
    if (const auto run = last_run(trace, by_step.workers, by_step.steps, at)) {
      repeated.resolved.push_back(step.step);
      drop_other_runs(trace, step, *run, kept, repeated.replaced);
    } else if (has_single_op_twice(trace, by_step.workers, step.rows)) {
      unordered.push_back(&step);
    }
  }
  if (unordered.size() <= by_step.one_run()) {
    for (const RecordedStep* step : unordered) {
      repeated.unordered.push_back(step->step);
      for (const std::size_t row : step->rows) kept[row] = false;
    }
  }
  if (!repeated.resolved.empty() || !repeated.unordered.empty()) keep_rows(trace, 0, kept);
}

}  // namespace

RepeatedSteps keep_last_runs(OpTrace& trace) {
  RepeatedSteps repeated;
  const TraceSteps as_read(trace);
  if (as_read.one_run() == as_read.steps.size()) return repeated;
  if (drop_copies(trace, as_read, repeated))
    drop_runs(trace, TraceSteps(trace), repeated);
  else
    drop_runs(trace, as_read, repeated);
  return repeated;
}

}  // namespace goodput
