// The columns that the tables of a sweep begin with: the number of the point, and what varies.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tools/sweep/store/sweep_folder.h"
#include "traces/table/table.h"

namespace goodput {

// A parameter of which all values are integers is a column of integers, of numbers one of numbers; any other
// is text, strings without their quotes.
class PointColumns {
 public:
  // `names` of the parameters, as columns are called.
  PointColumns(const SweepManifest& manifest, const std::vector<std::string>& names);
  PointColumns(const PointColumns&) = delete;
  PointColumns& operator=(const PointColumns&) = delete;

  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }

  // A cell a column, valid as long as this.
  [[nodiscard]] std::span<const TableCell> of_point(std::uint64_t point) const {
    return std::span(cells_).subspan(point * columns_.size(), columns_.size());
  }
  // Makes `row` one of this point, null behind these columns.
  void begin_row(std::uint64_t point, std::span<TableCell> row) const;

 private:
  std::vector<TableColumn> columns_;
  std::vector<std::string> texts_;  // by point and column; empty where there is none
  std::vector<TableCell> cells_;    // by point and column
};

}  // namespace goodput
