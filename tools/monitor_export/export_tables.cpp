#include "tools/monitor_export/export_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/cli/output_file.h"
#include "traces/table/table.h"

namespace goodput {
namespace {

bool is_parquet(const std::string& path) {
  return path.ends_with(".parquet");
}

Result<std::unique_ptr<TableWriter>> open_table(const std::string& path, bool as_parquet,
                                                std::span<const TableColumn> columns) {
#ifdef GOODPUT_HAVE_PARQUET
  if (as_parquet) return parquet_table(path, columns);
#else
  static_cast<void>(as_parquet);  // refused by check_table_path()
#endif
  return csv_table(path, columns);
}

// Whole or not at all. fill(table) says how many rows it added.
Result<std::size_t> write_table(const std::string& path, std::span<const TableColumn> columns,
                                const std::function<Result<std::size_t>(TableWriter&)>& fill) {
  std::size_t rows = 0;
  GOODPUT_TRY_STATUS(write_file_atomically(path, [&](const std::string& temporary) -> Status {
    GOODPUT_TRY(const std::unique_ptr<TableWriter> table, open_table(temporary, is_parquet(path), columns));
    GOODPUT_TRY(rows, fill(*table));
    return table->close();
  }));
  return rows;
}

// What is no number is nothing.
TableCell real_cell(double value) {
  return std::isfinite(value) ? TableCell(value) : TableCell();
}

TableCell integer_cell(std::int64_t value) {
  return TableCell(value);
}

const std::vector<TableColumn>& step_columns() {
  static const std::vector<TableColumn> columns = {{"job", ColumnType::kText},
                                                   {"run", ColumnType::kInteger},
                                                   {"step", ColumnType::kInteger},
                                                   {"status", ColumnType::kText},
                                                   {"began_s", ColumnType::kReal},
                                                   {"received_s", ColumnType::kReal},
                                                   {"finished_s", ColumnType::kReal},
                                                   {"ops", ColumnType::kInteger},
                                                   {"recorded_s", ColumnType::kReal},
                                                   {"replayed_s", ColumnType::kReal},
                                                   {"ideal_s", ColumnType::kReal},
                                                   {"slowdown", ColumnType::kReal},
                                                   {"waste", ColumnType::kReal},
                                                   {"lost_s", ColumnType::kReal},
                                                   {"launch_slowdown", ColumnType::kReal},
                                                   {"discrepancy", ColumnType::kReal},
                                                   {"worst_worker", ColumnType::kInteger},
                                                   {"worst_slowdown", ColumnType::kReal},
                                                   {"shape", ColumnType::kText},
                                                   {"cause", ColumnType::kText},
                                                   {"gain", ColumnType::kReal}};
  return columns;
}

Status add_step(TableWriter& table, const std::string& job, const StepTotals& totals) {
  const bool is_analysed = totals.status == StepStatus::kAnalysed;
  const auto analysed = [&](double value) { return is_analysed ? real_cell(value) : TableCell(); };
  const auto known_time = [](double time_s) { return time_s > 0 ? real_cell(time_s) : TableCell(); };
  const std::vector<TableCell> cells = {
      std::string_view(job),
      integer_cell(totals.id.run),
      integer_cell(totals.id.step),
      kStepStatuses[static_cast<std::size_t>(totals.status)],
      known_time(totals.began_s),
      known_time(totals.received_s),
      known_time(totals.finished_s),
      integer_cell(totals.ops),
      analysed(totals.recorded_s),
      analysed(totals.replayed_s),
      analysed(totals.ideal_s),
      analysed(totals.slowdown),
      analysed(totals.waste()),
      analysed(totals.lost_s()),
      analysed(totals.launch_slowdown),
      analysed(totals.discrepancy),
      is_analysed ? integer_cell(static_cast<std::int64_t>(totals.worst_worker)) : TableCell(),
      analysed(totals.worst_slowdown),
      is_analysed ? TableCell(kSlowdownShapes[static_cast<std::size_t>(totals.shape)]) : TableCell(),
      totals.cause.empty() ? TableCell() : TableCell(std::string_view(totals.cause)),
      totals.cause.empty() ? TableCell() : real_cell(totals.gain)};
  return table.add(cells);
}

const std::vector<TableColumn>& worker_columns() {
  static const std::vector<TableColumn> columns = {
      {"job", ColumnType::kText},      {"run", ColumnType::kInteger},    {"step", ColumnType::kInteger},
      {"began_s", ColumnType::kReal},  {"worker", ColumnType::kInteger}, {"dp_rank", ColumnType::kInteger},
      {"stage", ColumnType::kInteger}, {"rank", ColumnType::kInteger},   {"host", ColumnType::kText},
      {"slowdown", ColumnType::kReal}, {"pace", ColumnType::kReal},      {"exact", ColumnType::kBoolean}};
  return columns;
}

Result<std::size_t> add_workers(TableWriter& table, const std::string& job, const StepResult& result) {
  const std::size_t workers = std::min(result.worker_slowdown.size(), result.layout.workers());
  const bool is_exact = !result.worker_pace.empty();
  for (std::size_t i = 0; i < workers; ++i) {
    const WorkerPlace place = place_of(result.layout, i);
    const std::vector<TableCell> cells = {
        std::string_view(job),
        integer_cell(result.totals.id.run),
        integer_cell(result.totals.id.step),
        result.totals.began_s > 0 ? real_cell(result.totals.began_s) : TableCell(),
        integer_cell(static_cast<std::int64_t>(i)),
        integer_cell(place.dp_rank),
        integer_cell(place.stage),
        place.rank >= 0 ? integer_cell(place.rank) : TableCell(),
        place.host.empty() ? TableCell() : TableCell(std::string_view(place.host)),
        real_cell(result.worker_slowdown[i]),
        i < result.worker_pace.size() ? real_cell(result.worker_pace[i]) : TableCell(),
        is_exact};
    GOODPUT_TRY_STATUS(table.add(cells));
  }
  return workers;
}

// Of the steps of a job, those whose rows are kept.
Result<std::vector<StepId>> steps_to_trace(MonitorStore& store, const ExportedJob& job) {
  GOODPUT_TRY(const std::vector<StepId> kept, store.steps_with_rows(job.info.name));
  std::vector<StepId> exported;
  for (const StepTotals& totals : job.steps) exported.push_back(totals.id);
  std::vector<StepId> both;
  std::set_intersection(kept.begin(), kept.end(), exported.begin(), exported.end(), std::back_inserter(both));
  return both;
}

Status refuse_repeated_steps(const std::vector<StepId>& steps) {
  std::set<std::int64_t> seen;
  for (const StepId id : steps) {
    if (!seen.insert(id.step).second)
      return Error{
          fmt::format("step {} has rows from several runs; choose a run with --run", id.step), {}, "trace"};
  }
  return Ok{};
}

}  // namespace

Status check_table_path(const std::string& path, const char* option) {
  if (path.empty() || path.ends_with(".csv")) return Ok{};
  if (!is_parquet(path)) return Error{"a table must be a .csv or .parquet file", {.file = path}, option};
#ifdef GOODPUT_HAVE_PARQUET
  return Ok{};
#else
  return Error{"goodput was built without Parquet; use a .csv file", {.file = path}, option};
#endif
}

Result<std::size_t> write_step_table(std::span<const ExportedJob> jobs, const std::string& path) {
  return write_table(path, step_columns(), [&](TableWriter& table) -> Result<std::size_t> {
    std::size_t rows = 0;
    for (const ExportedJob& job : jobs) {
      for (const StepTotals& totals : job.steps) {
        GOODPUT_TRY_STATUS(add_step(table, job.info.name, totals));
        ++rows;
      }
    }
    return rows;
  });
}

Result<std::size_t> write_worker_table(MonitorStore& store, std::span<const ExportedJob> jobs,
                                       const std::string& path) {
  return write_table(path, worker_columns(), [&](TableWriter& table) -> Result<std::size_t> {
    std::size_t rows = 0;
    for (const ExportedJob& job : jobs) {
      for (const StepTotals& totals : job.steps) {
        if (totals.status != StepStatus::kAnalysed) continue;
        GOODPUT_TRY(const std::optional<StepResult> result, store.step(job.info.name, totals.id));
        if (!result) continue;  // let go of meanwhile
        GOODPUT_TRY(const std::size_t added, add_workers(table, job.info.name, *result));
        rows += added;
      }
    }
    return rows;
  });
}

Result<OpTrace> exported_rows(MonitorStore& store, std::span<const ExportedJob> jobs,
                              const std::string& database) {
  OpTrace trace;
  std::string traced;
  for (const ExportedJob& job : jobs) {
    GOODPUT_TRY(const std::vector<StepId> steps, steps_to_trace(store, job));
    if (steps.empty()) continue;
    if (!traced.empty())
      return Error{
          fmt::format("jobs {} and {} both have rows, but a trace holds one job; choose a job with --job",
                      traced, job.info.name),
          {},
          "trace"};
    traced = job.info.name;
    GOODPUT_TRY_STATUS(refuse_repeated_steps(steps));
    for (const StepId id : steps) {
      GOODPUT_TRY(const std::optional<OpTrace> rows, store.rows(job.info.name, id));
      if (rows) append_rows(trace, *rows);
    }
  }
  if (trace.size() > 0) return trace;
  return Error{
      "contains no rows of the selected steps; the monitor keeps rows only of the latest steps and of steps "
      "at which an incident opened",
      {.file = database}};
}

}  // namespace goodput
