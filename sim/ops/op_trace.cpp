#include "sim/ops/op_trace.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/float32.h"
#include "sim/base/hash.h"

namespace goodput {
namespace {

struct Range {
  const char* name;
  std::int64_t OpRow::*field;
  std::int64_t low;
  std::int64_t high;
};

// Counts are one more than the largest index and must fit too.
constexpr std::int64_t kMaxInt32 = std::numeric_limits<std::int32_t>::max() - 1;
constexpr std::int64_t kMaxInt16 = std::numeric_limits<std::int16_t>::max() - 1;
constexpr Range kRanges[] = {
    {"dp_rank", &OpRow::dp_rank, 0, kMaxInt32}, {"stage", &OpRow::stage, 0, kMaxInt16},
    {"rank", &OpRow::rank, 0, kMaxInt32},       {"seq_id", &OpRow::seq_id, kUnset, kMaxInt32},
    {"mc", &OpRow::mc, kUnset, kMaxInt16},      {"mb_id", &OpRow::mb_id, kUnset, kMaxInt32},
    {"gmc", &OpRow::gmc, kUnset, kMaxInt32},
};

// Twice the largest time still adds up without overflow, and a nanosecond clock holds it (292 years).
constexpr double kLargestTime = 9.2e9;

}  // namespace

std::optional<std::string> problem_with(const OpRow& row) {
  for (const Range& range : kRanges) {
    const std::int64_t value = row.*range.field;
    if (value < range.low || value > range.high) {
      return fmt::format("{0} must be from {2} to {3}, not {1}", range.name, value, range.low, range.high);
    }
  }
  if (!(std::abs(row.start_s) <= kLargestTime)) {
    return fmt::format("start_ts must be seconds within +-{1:g}, not {0}", row.start_s, kLargestTime);
  }
  if (!(row.duration_s > kLowestDuration && row.duration_s <= kLargestTime)) {
    return fmt::format("duration must be seconds from 0 to {1:g}, not {0}", row.duration_s, kLargestTime);
  }
  return std::nullopt;
}

OpRow OpTrace::row(std::size_t i) const {
  return {dp_rank[i],    stage[i],  rank[i], step[i],  optype[i], start_s[i],
          duration_s[i], seq_id[i], mc[i],   mb_id[i], gmc[i]};
}

void append_rows(OpTrace& to, const OpTrace& from) {
  const auto append = [](auto& column, const auto& more) {
    column.insert(column.end(), more.begin(), more.end());
  };
  append(to.dp_rank, from.dp_rank);
  append(to.stage, from.stage);
  append(to.rank, from.rank);
  append(to.step, from.step);
  append(to.optype, from.optype);
  append(to.start_s, from.start_s);
  append(to.duration_s, from.duration_s);
  append(to.seq_id, from.seq_id);
  append(to.mc, from.mc);
  append(to.mb_id, from.mb_id);
  append(to.gmc, from.gmc);
}

void keep_rows(OpTrace& trace, std::size_t first, const std::vector<bool>& kept) {
  for_each_column(trace, [&](auto& column) {
    std::size_t next = first;
    for (std::size_t i = 0; i < kept.size(); ++i) {
      if (kept[i]) column[next++] = column[first + i];
    }
    column.resize(next);
  });
}

bool times_are_float32(const OpTrace& trace) {
  const auto is_float32 = [](double x) { return round_to_float32(x) == x; };
  return std::all_of(trace.start_s.begin(), trace.start_s.end(), is_float32) &&
         std::all_of(trace.duration_s.begin(), trace.duration_s.end(), is_float32);
}

std::uint64_t hash_rows(const OpTrace& trace) {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const OpRow row = trace.row(i);
    Hash hash;
    for (const Range& range : kRanges) hash.add(row.*range.field);
    hash.add(row.step);
    hash.add(index_of(row.optype));
    hash.add(row.start_s);
    hash.add(row.duration_s);
    sum += hash.value();
  }
  return sum;
}

void OpTrace::reserve(std::size_t rows) {
  for_each_column(*this, [rows](auto& column) { column.reserve(rows); });
}

std::optional<std::string> OpTrace::append(const OpRow& row) {
  if (auto problem = problem_with(row)) return problem;
  dp_rank.push_back(static_cast<std::int32_t>(row.dp_rank));
  stage.push_back(static_cast<std::int16_t>(row.stage));
  rank.push_back(static_cast<std::int32_t>(row.rank));
  step.push_back(row.step);
  optype.push_back(row.optype);
  start_s.push_back(row.start_s);
  duration_s.push_back(row.duration_s);
  seq_id.push_back(static_cast<std::int32_t>(row.seq_id));
  mc.push_back(static_cast<std::int16_t>(row.mc));
  mb_id.push_back(static_cast<std::int32_t>(row.mb_id));
  gmc.push_back(static_cast<std::int32_t>(row.gmc));
  return std::nullopt;
}

}  // namespace goodput
