#include "sim/cleaning/repeated_rows.h"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kMostCompared = 64;  // rows of one op and step that differ

bool equal_rows(const OpTrace& trace, std::size_t a, std::size_t b) {
  bool equal = true;
  for_each_column(trace, [&](const auto& column) { equal = equal && column[a] == column[b]; });
  return equal;
}

void sort_by_op(std::vector<InstanceRow>& rows) {
  std::sort(rows.begin(), rows.end(), [](const InstanceRow& a, const InstanceRow& b) {
    return std::tuple(a.dp_rank, a.op, a.row) < std::tuple(b.dp_rank, b.op, b.row);
  });
}

std::vector<InstanceRow> by_start(const OpTrace& trace, std::vector<InstanceRow> rows) {
  std::sort(rows.begin(), rows.end(), [&](const InstanceRow& a, const InstanceRow& b) {
    return std::tuple(trace.start_s[a.row], a.row) < std::tuple(trace.start_s[b.row], b.row);
  });
  return rows;
}

double end_of_row(const OpTrace& trace, std::size_t row) {
  return trace.start_s[row] + trace.duration_s[row];
}

// The longest idle time among rows[begin, end] by start: where it ends. None when there is none.
std::optional<std::size_t> longest_idle(const OpTrace& trace, const std::vector<InstanceRow>& rows,
                                        std::size_t begin, std::size_t end) {
  std::optional<std::size_t> at;
  double longest = 0;
  double busy_until = end_of_row(trace, rows[begin].row);
  for (std::size_t i = begin + 1; i <= end; ++i) {
    const double idle = trace.start_s[rows[i].row] - busy_until;
    if (idle > longest) {
      longest = idle;
      at = i;
    }
    busy_until = std::max(busy_until, end_of_row(trace, rows[i].row));
  }
  return at;
}

// Begins of the runs among rows by start; empty when they overlap.
std::vector<std::size_t> cut_into_runs(const OpTrace& trace, const std::vector<InstanceRow>& rows) {
  std::vector<std::size_t> begins = {0};
  std::set<std::pair<std::int32_t, OpKey>> seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (seen.insert({rows[i].dp_rank, rows[i].op}).second) continue;
    const auto cut = longest_idle(trace, rows, begins.back(), i);
    if (!cut) return {};
    begins.push_back(*cut);
    seen.clear();
    for (std::size_t k = *cut; k <= i; ++k) {
      if (!seen.insert({rows[k].dp_rank, rows[k].op}).second) return {};
    }
  }
  return begins;
}

bool is_complete(const std::vector<InstanceRow>& rows, const std::vector<OpKey>* want) {
  OpSets sets;
  const auto shape = shape_of(rows, sets);
  return shape && (want == nullptr || sets.at(shape->op_set) == *want);
}

std::optional<std::vector<InstanceRow>> last_run(const OpTrace& trace, const std::vector<InstanceRow>& step,
                                                 const std::vector<OpKey>* want) {
  const std::vector<InstanceRow> rows = by_start(trace, step);
  std::vector<std::size_t> begins = cut_into_runs(trace, rows);
  std::size_t end = rows.size();
  for (; !begins.empty(); begins.pop_back()) {
    const auto first = rows.begin() + static_cast<std::ptrdiff_t>(begins.back());
    std::vector<InstanceRow> run(first, rows.begin() + static_cast<std::ptrdiff_t>(end));
    sort_by_op(run);
    if (is_complete(run, want)) return run;
    end = begins.back();
  }
  return std::nullopt;
}

// Without the rows of ranks that ended before another one began at the same place.
std::vector<InstanceRow> of_latest_ranks(const OpTrace& trace, const std::vector<InstanceRow>& rows) {
  using Place = std::pair<std::int32_t, std::int16_t>;
  struct Span {
    double start_s = kInfinity;
    double end_s = -kInfinity;
  };
  std::map<Place, std::map<std::int32_t, Span>> places;
  for (const InstanceRow& at : rows) {
    Span& span = places[{at.dp_rank, stage_of(at.op)}][trace.rank[at.row]];
    span.start_s = std::min(span.start_s, trace.start_s[at.row]);
    span.end_s = std::max(span.end_s, end_of_row(trace, at.row));
  }
  std::vector<InstanceRow> kept;
  for (const InstanceRow& at : rows) {
    const auto& ranks = places[{at.dp_rank, stage_of(at.op)}];
    const double end = ranks.at(trace.rank[at.row]).end_s;
    const bool is_replaced =
        std::any_of(ranks.begin(), ranks.end(), [&](const auto& rank) { return rank.second.start_s >= end; });
    if (!is_replaced || ranks.size() == 1) kept.push_back(at);
  }
  return kept;
}

}  // namespace

std::size_t drop_repeated_rows(const OpTrace& trace, StepInstances& step) {
  std::vector<InstanceRow>& rows = step.rows;
  std::size_t kept = 0;
  std::size_t first = 0;  // among the kept ones, of the op at hand
  for (std::size_t i = 0; i < rows.size(); ++i) {
    if (kept == 0 || !same_op(rows[first], rows[i])) first = kept;
    bool repeats = false;
    for (std::size_t k = std::max(first, kept - std::min(kept, kMostCompared)); k < kept && !repeats; ++k)
      repeats = equal_rows(trace, rows[k].row, rows[i].row);
    if (!repeats) rows[kept++] = rows[i];
  }
  const std::size_t dropped = rows.size() - kept;
  rows.resize(kept);
  return dropped;
}

std::optional<InstanceRow> first_repeated_op(const StepInstances& step) {
  const auto at = std::adjacent_find(step.rows.begin(), step.rows.end(), same_op);
  if (at == step.rows.end()) return std::nullopt;
  return *at;
}

bool starts_are_relative(const OpTrace& trace, const std::vector<StepInstances>& steps) {
  std::vector<double> lengths;
  double earliest = kInfinity;
  double latest = -kInfinity;
  for (const StepInstances& step : steps) {
    if (step.rows.empty()) continue;
    double first = kInfinity;
    double end = -kInfinity;
    for (const InstanceRow& at : step.rows) {
      first = std::min(first, trace.start_s[at.row]);
      end = std::max(end, end_of_row(trace, at.row));
    }
    lengths.push_back(end - first);
    earliest = std::min(earliest, first);
    latest = std::max(latest, first);
  }
  if (lengths.size() < 2) return true;
  return latest - earliest <= take_median(lengths) / 2;
}

std::optional<std::vector<InstanceRow>> last_complete_run(const OpTrace& trace, const StepInstances& step,
                                                          const std::vector<OpKey>* want) {
  if (auto run = last_run(trace, step.rows, want)) return run;
  const std::vector<InstanceRow> latest = of_latest_ranks(trace, step.rows);
  if (latest.size() == step.rows.size()) return std::nullopt;
  return last_run(trace, latest, want);
}

}  // namespace goodput
