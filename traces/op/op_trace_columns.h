// The columns of op traces that are tables (CSV, Parquet): names, order and which may be absent.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// In the order in which they are written.
enum class OpColumn : std::uint8_t {
  kDpRank,
  kStage,
  kRank,
  kStep,
  kOptype,
  kStart,
  kDuration,
  kSeqId,
  kMc,
  kMbId,
  kGmc
};

inline constexpr std::array<std::string_view, 11> kOpColumnNames = {
    "dp_rank", "stage", "rank", "step", "optype", "start_ts", "duration", "seq_id", "mc", "mb_id", "gmc"};
inline constexpr std::size_t kOpColumnCount = kOpColumnNames.size();

// The member that holds an integer column, null for the optype and the times.
inline constexpr std::array<std::int64_t OpRow::*, kOpColumnCount> kOpRowIntegers = {
    &OpRow::dp_rank, &OpRow::stage,  &OpRow::rank, &OpRow::step,  nullptr,    nullptr,
    nullptr,         &OpRow::seq_id, &OpRow::mc,   &OpRow::mb_id, &OpRow::gmc};

[[nodiscard]] constexpr std::size_t index_of(OpColumn column) {
  return static_cast<std::size_t>(column);
}
[[nodiscard]] constexpr std::string_view name_of(OpColumn column) {
  return kOpColumnNames[index_of(column)];
}

// Which of a table's columns holds which column of ours.
struct OpTableLayout {
  static constexpr int kAbsent = -1;
  std::array<int, kOpColumnCount> position{};  // kAbsent: gmc, or seq_id, mc, mb_id and gmc together
  [[nodiscard]] int at(OpColumn column) const { return position[index_of(column)]; }
  [[nodiscard]] bool has_ids() const { return at(OpColumn::kSeqId) != kAbsent; }
};

// Finds our columns among `names`, in upper or lower case; others are ignored. Without any of seq_id, mc and
// mb_id the ids are to be derived, and gmc is ignored; gmc alone may be absent too. `where` is the place for
// an error: the header line, the file.
Result<OpTableLayout> find_op_columns(std::span<const std::string_view> names, const Where& where);

// Whether a table with these column names is meant as an op trace, be it with a misspelt column or two.
[[nodiscard]] bool looks_like_op_table(std::span<const std::string_view> names);

// The error text for an op type that is none of ours.
[[nodiscard]] std::string unknown_op_type(std::string_view name);

}  // namespace goodput
