#include <fmt/format.h>
#include <fmt/ranges.h>

#include <filesystem>
#include <functional>
#include <memory>
#include <set>
#include <string_view>
#include <system_error>

#include "tools/cli/output_file.h"
#include "tools/fleet/fleet_report.h"
#include "traces/table/table.h"

namespace goodput {
namespace {

using Columns = std::vector<TableColumn>;
using FillTable = std::function<Status(TableWriter&)>;

Status write_table(const std::string& path, const Columns& columns, const FillTable& fill) {
  return write_file_atomically(path, [&](const std::string& temporary) -> Status {
    GOODPUT_TRY(const std::unique_ptr<TableWriter> table, csv_table(temporary, columns));
    GOODPUT_TRY_STATUS(fill(*table));
    return table->close();
  });
}

TableCell known(const std::optional<double>& value) {
  return value ? TableCell(*value) : TableCell();
}
TableCell known(const std::optional<std::int64_t>& value) {
  return value ? TableCell(*value) : TableCell();
}
TableCell count(std::size_t value) {
  return static_cast<std::int64_t>(value);
}
Status add_row(TableWriter& table, const std::vector<TableCell>& row) {
  return table.add(row);
}

Status write_jobs(const FleetReport& report, const std::string& path) {
  const Columns columns = {
      {"job", ColumnType::kText},      {"source", ColumnType::kText},      {"studied", ColumnType::kBoolean},
      {"gpus", ColumnType::kInteger},  {"gpu_hours", ColumnType::kReal},   {"restarts", ColumnType::kInteger},
      {"steps", ColumnType::kInteger}, {"pp_size", ColumnType::kInteger},  {"slowdown", ColumnType::kReal},
      {"waste", ColumnType::kReal},    {"discrepancy", ColumnType::kReal}, {"m_w", ColumnType::kReal},
      {"m_s", ColumnType::kReal},      {"correlation", ColumnType::kReal}, {"causes", ColumnType::kText}};
  const std::set<const FleetJob*> studied(report.study.fleet.studied.begin(),
                                          report.study.fleet.studied.end());
  return write_table(path, columns, [&](TableWriter& table) -> Status {
    for (const FleetJob& job : report.reading.jobs) {
      std::vector<std::string_view> names;
      for (const LikelyCause& cause : job.causes) names.push_back(cause.name);
      const std::string causes = fmt::format("{}", fmt::join(names, " "));
      GOODPUT_TRY_STATUS(
          add_row(table, {std::string_view(job.name), std::string_view(job.source), studied.contains(&job),
                          known(job.gpus), known(job.gpu_hours), known(job.restarts), job.steps,
                          std::int64_t{job.pp_size}, job.slowdown, job.waste(), known(job.discrepancy),
                          known(job.m_w), known(job.m_s), known(job.correlation), std::string_view(causes)}));
    }
    return Ok{};
  });
}

Status write_distributions(const FleetStudy& study, const std::string& path) {
  const Columns columns = {{"distribution", ColumnType::kText},
                           {"value", ColumnType::kReal},
                           {"cumulative_share", ColumnType::kReal}};
  return write_table(path, columns, [&](TableWriter& table) -> Status {
    for (const FleetCurve& curve : study.curves) {
      for (const LinePoint& point : cumulative(curve.sample))
        GOODPUT_TRY_STATUS(add_row(table, {curve.key, point.x, point.y}));
    }
    return Ok{};
  });
}

Status write_optypes(const FleetStudy& study, const std::string& path) {
  const Columns columns = {
      {"optype", ColumnType::kText}, {"jobs", ColumnType::kInteger}, {"waste", ColumnType::kReal}};
  return write_table(path, columns, [&](TableWriter& table) -> Status {
    for (const OptypeWaste& type : study.optypes)
      GOODPUT_TRY_STATUS(add_row(table, {std::string_view(type.optype), count(type.jobs), type.waste}));
    return Ok{};
  });
}

Status write_sizes(const FleetStudy& study, const std::string& path) {
  const Columns columns = {{"least_gpus", ColumnType::kInteger},
                           {"most_gpus", ColumnType::kInteger},
                           {"jobs", ColumnType::kInteger},
                           {"mean_slowdown", ColumnType::kReal},
                           {"slow_share", ColumnType::kReal}};
  return write_table(path, columns, [&](TableWriter& table) -> Status {
    for (const SizeClass& size : study.sizes) {
      GOODPUT_TRY_STATUS(add_row(
          table, {size.least_gpus, size.most_gpus, count(size.jobs), size.mean_slowdown, size.slow_share}));
    }
    return Ok{};
  });
}

Status write_hosts(const FleetStudy& study, const std::string& path) {
  const Columns columns = {{"host", ColumnType::kText},           {"slow_in", ColumnType::kInteger},
                           {"ran_in", ColumnType::kInteger},      {"mean_slowdown", ColumnType::kReal},
                           {"worst_slowdown", ColumnType::kReal}, {"jobs", ColumnType::kText}};
  return write_table(path, columns, [&](TableWriter& table) -> Status {
    for (const HostRecord& host : study.hosts) {
      const std::string jobs = fmt::format("{}", fmt::join(host.jobs, " "));
      GOODPUT_TRY_STATUS(add_row(table, {std::string_view(host.host), count(host.slow_in), count(host.ran_in),
                                         host.mean_slowdown, host.worst_slowdown, std::string_view(jobs)}));
    }
    return Ok{};
  });
}

std::string table_file(const std::string& folder, std::string_view table) {
  return fmt::format("{}/{}.csv", folder, table);
}

}  // namespace

std::vector<std::string> fleet_table_files(const std::string& folder) {
  std::vector<std::string> files;
  for (const std::string_view table : {"jobs", "distributions", "optypes", "sizes", "hosts"})
    files.push_back(table_file(folder, table));
  return files;
}

Status write_fleet_tables(const FleetReport& report, const std::string& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return Error{fmt::format("cannot create this folder: {}", failed.message()), {.file = folder}};
  GOODPUT_TRY_STATUS(write_jobs(report, table_file(folder, "jobs")));
  GOODPUT_TRY_STATUS(write_distributions(report.study, table_file(folder, "distributions")));
  GOODPUT_TRY_STATUS(write_optypes(report.study, table_file(folder, "optypes")));
  GOODPUT_TRY_STATUS(write_sizes(report.study, table_file(folder, "sizes")));
  return write_hosts(report.study, table_file(folder, "hosts"));
}

}  // namespace goodput
