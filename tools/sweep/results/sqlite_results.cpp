#include "tools/sweep/results/sqlite_results.h"

#include <fmt/format.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "sim/base/json.h"
#include "tools/sweep/results/result_rows.h"

namespace goodput {
namespace {

// `all` without what is at 1 ... count: the parameters, which stand with the points.
template <typename Item>
void assign_without_parameters(std::span<const Item> all, std::size_t count, std::vector<Item>& into) {
  into.assign(1, all.front());
  into.insert(into.end(), all.begin() + 1 + static_cast<std::ptrdiff_t>(count), all.end());
}

// Takes rows of results.csv.
class TrialTable final : public TableWriter {
 public:
  TrialTable(std::unique_ptr<TableWriter> table, std::size_t parameters)
      : table_(std::move(table)), parameters_(parameters) {}

  Status add(std::span<const TableCell> row) override {
    assign_without_parameters(row, parameters_, row_);
    return table_->add(row_);
  }
  Status close() override { return table_->close(); }

 private:
  std::unique_ptr<TableWriter> table_;
  std::size_t parameters_;
  std::vector<TableCell> row_;
};

}  // namespace

Result<SqliteResults> SqliteResults::create(const std::string& path, const SweepManifest& manifest,
                                            const PointColumns& points,
                                            const std::vector<TableColumn>& results,
                                            const std::vector<TableColumn>& summary) {
  GOODPUT_TRY(SqliteDatabase database, SqliteDatabase::create(path));
  SqliteResults made(std::move(database), points);
  GOODPUT_TRY_STATUS(made.describe(manifest));
  std::vector<TableColumn> columns = points.columns();
  for (const char* name : {"status", "reason", "config_hash"}) columns.push_back({name, ColumnType::kText});
  GOODPUT_TRY(made.point_table_, made.database_.table("points", columns, SqliteDatabase::Key::kFirstColumn));
  const std::size_t parameters = points.columns().size() - 1;
  assign_without_parameters(std::span(results), parameters, columns);
  GOODPUT_TRY(auto trials, made.database_.table("trials", columns));
  made.trial_table_ = std::make_unique<TrialTable>(std::move(trials), parameters);
  GOODPUT_TRY(made.summary_table_, made.database_.table("summary", summary));
  GOODPUT_TRY_STATUS(made.join_trials(results));
  return made;
}

// The table `sweep`.
Status SqliteResults::describe(const SweepManifest& manifest) {
  const std::array<TableColumn, 2> columns = {{{"key", ColumnType::kText}, {"value", ColumnType::kText}}};
  GOODPUT_TRY(const std::unique_ptr<TableWriter> table, database_.table("sweep", columns));
  const std::string seed = std::to_string(manifest.seed);
  const std::string points = std::to_string(manifest.values.size());
  const std::string parameters = Json(manifest.parameters).dump();
  const std::array<std::array<std::string_view, 2>, 8> values = {{{"schema", "goodput.sweep-results/1"},
                                                                  {"version", manifest.version},
                                                                  {"grid_hash", manifest.grid_hash},
                                                                  {"seed", seed},
                                                                  {"scenario", manifest.scenario},
                                                                  {"points", points},
                                                                  {"parameters", parameters},
                                                                  {"request", manifest.request}}};
  for (const auto& [key, value] : values) {
    const std::array<TableCell, 2> row = {key, value};
    GOODPUT_TRY_STATUS(table->add(row));
  }
  return table->close();
}

// The view `results`.
Status SqliteResults::join_trials(const std::vector<TableColumn>& results) {
  std::string columns;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const bool is_parameter = i >= 1 && i < points_.columns().size();
    const std::string name = sql_name(results[i].name);
    columns +=
        fmt::format("{}{}.{} AS {}", i == 0 ? "" : ", ", is_parameter ? "points" : "trials", name, name);
  }
  return database_.run(fmt::format(
      "CREATE VIEW results AS SELECT {} FROM trials JOIN points ON points.point = trials.point", columns));
}

Status SqliteResults::add_point(const PointRows& rows) {
  const std::span<const TableCell> cells = points_.of_point(rows.point);
  std::vector<TableCell> row(cells.begin(), cells.end());
  row.insert(row.end(), {TableCell(status_of(rows)), text_cell(rows.error), text_cell(rows.config_hash)});
  return point_table_->add(row);
}

Status SqliteResults::close() {
  for (TableWriter* table : {point_table_.get(), trial_table_.get(), summary_table_.get()})
    GOODPUT_TRY_STATUS(table->close());
  GOODPUT_TRY_STATUS(database_.run("CREATE INDEX trials_point ON trials (point)"));
  return database_.close();
}

}  // namespace goodput
