// summary.csv: a row a point and policy, with means and their intervals; one of a point that cannot be.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/results/point_columns.h"
#include "tools/sweep/results/result_names.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"
#include "traces/table/table.h"

namespace goodput {

class SummaryRows {
 public:
  // `metrics`: of estimates, as points name them; `names`: as the table does. `manifest` and `points`
  // must outlive this.
  SummaryRows(const SweepManifest& manifest, const PointColumns& points,
              const std::vector<std::string>& metrics, const ResultNames& names);

  [[nodiscard]] const std::vector<TableColumn>& columns() const { return columns_; }

  // The rows of a point.
  Status write(const PointRows& rows, TableWriter& into);

 private:
  enum Field : std::size_t;
  TableCell& field(Field field);
  void begin(const PointRows& rows);
  Status write(const PolicyRows& policy, TableWriter& into);

  const SweepManifest& manifest_;
  const PointColumns& points_;
  std::vector<TableColumn> columns_;
  std::unordered_map<std::string, std::size_t> metrics_;  // places in a row
  std::vector<TableCell> row_;
};

}  // namespace goodput
