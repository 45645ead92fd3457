// The columns of a Parquet file on their way into a trace. For traces/op/parquet_*.cpp only: nothing else
// includes Arrow.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "traces/op/op_trace_columns.h"
#include "traces/op/trace_intake.h"

namespace parquet {
class ColumnDescriptor;
class ColumnReader;
}  // namespace parquet

namespace goodput {

// A column of the file as it is to be read.
struct ParquetColumn {
  OpColumn column;
  int leaf;  // its number in the file
  const parquet::ColumnDescriptor* descriptor;
};

// Where we are, for errors.
struct ParquetPlace {
  const std::string& path;
  std::size_t first_row;  // of this file in the trace

  [[nodiscard]] Position position(std::size_t row) const { return Position::row(row - first_row + 1); }
  [[nodiscard]] Error at(std::size_t row, std::string what) const {
    return {std::move(what), {.file = path, .position = position(row)}};
  }
};

// The rows of a file, as far as they are read, and those among them that are to be left out.
struct ParquetRows {
  OpTrace& trace;
  TraceIntake& intake;
  std::set<std::size_t> damaged{};           // rows of the trace
  std::set<std::size_t> unknown{};           // counted already
  std::vector<std::size_t> unknown_types{};  // of the unknown, whose steps are not counted yet
  std::size_t ignored_metrics = 0;           // rows of the unknown

  explicit ParquetRows(TraceIntake& of) : trace(of.trace()), intake(of) {}
};

// Appends the next `count` values of a column, which is of a type that is meant for it. Fails on the first
// that makes no sense; rows that are to be left out are noted in `rows` (their values are appended all the
// same).
Status read_parquet_column(parquet::ColumnReader& reader, const ParquetColumn& column, std::int64_t count,
                           const ParquetPlace& place, ParquetRows& rows);

}  // namespace goodput
