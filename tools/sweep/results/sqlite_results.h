// results.sqlite: what a sweep is, its points, their trials, their summary, and a view that is results.csv.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "tools/sweep/results/point_columns.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/store/sweep_folder.h"
#include "traces/table/sqlite_database.h"
#include "traces/table/table.h"

namespace goodput {

class SqliteResults {
 public:
  // `results`, `summary`: the columns of these tables. `points` must outlive this.
  static Result<SqliteResults> create(const std::string& path, const SweepManifest& manifest,
                                      const PointColumns& points, const std::vector<TableColumn>& results,
                                      const std::vector<TableColumn>& summary);

  Status add_point(const PointRows& rows);

  // What takes the rows of results.csv and of summary.csv.
  [[nodiscard]] TableWriter& results() { return *trial_table_; }
  [[nodiscard]] TableWriter& summary() { return *summary_table_; }

  Status close();

 private:
  SqliteResults(SqliteDatabase database, const PointColumns& points)
      : database_(std::move(database)), points_(points) {}
  Status describe(const SweepManifest& manifest);
  Status join_trials(const std::vector<TableColumn>& results);

  SqliteDatabase database_;
  const PointColumns& points_;
  std::unique_ptr<TableWriter> point_table_;
  std::unique_ptr<TableWriter> trial_table_;
  std::unique_ptr<TableWriter> summary_table_;
};

}  // namespace goodput
