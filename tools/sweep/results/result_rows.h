// results.csv: a row a point, policy and trial; one of a point that cannot be and of a policy that cannot
// run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "tools/sweep/results/point_columns.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"
#include "traces/table/table.h"

namespace goodput {

// The text, or null where there is none.
[[nodiscard]] TableCell text_cell(std::string_view text);

// "ok", "refused", "error".
[[nodiscard]] std::string_view status_of(const PointRows& rows);
[[nodiscard]] std::string_view status_of(const PolicyRows& policy);

class ResultRows {
 public:
  // `columns`: figures of trials, as points name them; `names`: as the table does. `manifest` and
  // `points` must outlive this.
  ResultRows(const SweepManifest& manifest, const PointColumns& points,
             const std::vector<std::string>& columns, const std::vector<std::string>& names);

  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }

  // The rows of a point; how many.
  Result<std::size_t> write(const PointRows& rows, TableWriter& into);

 private:
  enum Field : std::size_t;
  TableCell& field(Field field);
  void begin(const PointRows& rows);
  void begin(const PolicyRows& policy);

  const SweepManifest& manifest_;
  const PointColumns& points_;
  const std::string seed_text_;
  std::vector<TableColumn> columns_;
  std::unordered_map<std::string, std::size_t> figures_;  // places in a row
  std::vector<TableCell> row_;
};

}  // namespace goodput
