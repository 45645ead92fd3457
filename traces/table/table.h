// Tables written to files row by row: what their columns hold, and what takes the rows.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

enum class ColumnType : std::uint8_t { kInteger, kReal, kBoolean, kText };

struct TableColumn {
  std::string name;
  ColumnType type = ColumnType::kText;
};

// Nothing: null. Text is UTF-8, and need not outlive the call it is given to.
using TableCell = std::variant<std::monostate, std::int64_t, double, bool, std::string_view>;

class TableWriter {
 public:
  TableWriter() = default;
  TableWriter(const TableWriter&) = delete;
  TableWriter& operator=(const TableWriter&) = delete;
  virtual ~TableWriter() = default;

  // REQUIRES: a cell a column, each null or of the column's type.
  virtual Status add(std::span<const TableCell> row) = 0;

  // After the last row: all is in the file then. Without it the file is not usable.
  virtual Status close() = 0;
};

// Comma-separated, a header first (RFC 4180, but lines end as everywhere on Unix). Null is an empty field,
// booleans are 1 and 0, numbers have the fewest digits that say which double. Writes over the file at `path`.
Result<std::unique_ptr<TableWriter>> csv_table(const std::string& path, std::span<const TableColumn> columns);

// Parquet, through Arrow: int64, double, boolean and utf8, all nullable. The same rows make the same bytes.
// Declared always, defined only when built with Parquet (GOODPUT_HAVE_PARQUET).
Result<std::unique_ptr<TableWriter>> parquet_table(const std::string& path,
                                                   std::span<const TableColumn> columns);

}  // namespace goodput
