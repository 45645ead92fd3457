// What of jobs and single steps can be read.
#include <algorithm>
#include <string>
#include <utility>

#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/rows_blob.h"
#include "tools/monitor_store/step_blobs.h"
#include "tools/monitor_store/store_columns.h"
#include "tools/monitor_store/store_connection.h"
#include "tools/monitor_store/worker_map_blob.h"

namespace goodput {
namespace {

using Access = StoreConnection::Access;

Result<std::optional<StepTotals>> latest_step(StoreConnection& connection, std::int64_t job,
                                              std::string_view condition) {
  std::string sql = std::string("SELECT ") + kTotalsColumns + " FROM steps WHERE job = ? ";
  sql.append(condition).append(" ORDER BY run DESC, step DESC LIMIT 1");
  GOODPUT_TRY(StoreStatement query, connection.prepare(sql));
  query.bind(job);
  GOODPUT_TRY(const bool is_there, query.next());
  return is_there ? std::optional(read_totals(query)) : std::nullopt;
}

Result<std::vector<JobInfo>> read_jobs(StoreConnection& connection, std::string_view name) {
  GOODPUT_TRY(const StoreTransaction transaction, StoreTransaction::begin(connection, Access::kRead));
  GOODPUT_TRY(
      StoreStatement query,
      connection.prepare("SELECT id, name, runs, analysed, incomplete, refused, skipped, (SELECT "
                         "count(*) FROM incidents WHERE incidents.job = jobs.id AND closed_s IS NULL) FROM "
                         "jobs WHERE ?1 = '' OR name = ?1 ORDER BY name"));
  query.bind(name);
  std::vector<JobInfo> jobs;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return jobs;
    JobInfo& job = jobs.emplace_back();
    job.id = query.integer(0);
    job.name = query.text(1);
    job.runs = query.integer_as<std::int32_t>(2);
    job.analysed = query.integer(3);
    job.incomplete = query.integer(4);
    job.refused = query.integer(5);
    job.skipped = query.integer(6);
    job.open_incidents = query.integer(7);
    GOODPUT_TRY(job.latest, latest_step(connection, job.id, ""));
    GOODPUT_TRY(job.latest_analysed, latest_step(connection, job.id, "AND status = 0"));
  }
}

// A column of the row of a job; an empty text where there is no such job.
Result<std::string> state_of_job(StoreConnection& connection, std::string_view column, std::string_view job) {
  std::string sql = "SELECT ";
  sql.append(column).append(" FROM jobs WHERE name = ?");
  GOODPUT_TRY(StoreStatement query, connection.prepare(sql));
  query.bind(job);
  GOODPUT_TRY(const bool is_there, query.next());
  return is_there ? query.text(0) : std::string();
}

// Totals and layout of a step.
Result<std::optional<StepResult>> read_step(StoreConnection& connection, std::int64_t job, StepId id) {
  GOODPUT_TRY(StoreStatement query,
              connection.prepare(std::string("SELECT ") + kTotalsColumns +
                                 ", (SELECT content FROM layouts WHERE layouts.id = layout) FROM steps WHERE "
                                 "job = ? AND run = ? AND step = ?"));
  query.bind(job, id.run, id.step);
  GOODPUT_TRY(const bool is_there, query.next());
  if (!is_there) return std::optional<StepResult>();
  StepResult result;
  result.totals = read_totals(query);
  GOODPUT_TRY(result.layout, read_layout_blob(query.bytes(kTotalsCount)));
  return std::optional(std::move(result));
}

Status read_details(StoreConnection& connection, std::int64_t job, StepResult& result) {
  GOODPUT_TRY(
      StoreStatement query,
      connection.prepare("SELECT content, map FROM details WHERE job = ? AND has_map IN (0, 1) AND run "
                         "= ? AND step = ?"));
  query.bind(job, result.totals.id.run, result.totals.id.step);
  GOODPUT_TRY(const bool is_there, query.next());
  if (!is_there) return Ok{};
  GOODPUT_TRY_STATUS(read_details_blob(query.bytes(0), result));
  if (query.is_null(1)) return Ok{};
  GOODPUT_TRY(WorkerMapValues map, read_map_blob(query.bytes(1)));
  result.worker_slowdown = std::move(map.slowdown);
  return Ok{};
}

// Instead of those of the map, where they are kept.
Status read_exact_workers(StoreConnection& connection, std::int64_t job, StepResult& result) {
  GOODPUT_TRY(StoreStatement query,
              connection.prepare("SELECT exact FROM step_rows WHERE job = ? AND run = ? AND step = ?"));
  query.bind(job, result.totals.id.run, result.totals.id.step);
  GOODPUT_TRY(const bool is_there, query.next());
  if (!is_there) return Ok{};
  result.worker_slowdown.clear();
  return read_workers_blob(query.bytes(0), result);
}

FilePosition read_position(const StoreStatement& row) {
  FilePosition position;
  position.path = row.text(0);
  position.device = row.integer_as<std::uint64_t>(1);
  position.inode = row.integer_as<std::uint64_t>(2);
  position.head_hash = row.integer_as<std::uint64_t>(3);
  position.head_bytes = row.integer_as<std::uint64_t>(4);
  position.offset = row.integer_as<std::uint64_t>(5);
  position.seen = row.integer_as<std::uint64_t>(6);
  position.is_done = row.integer(7) != 0;
  return position;
}

Result<std::vector<StepId>> read_ids(StoreStatement& query) {
  std::vector<StepId> steps;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return steps;
    steps.push_back({query.integer_as<std::int32_t>(0), query.integer(1)});
  }
}

}  // namespace

Result<std::vector<JobInfo>> MonitorStore::jobs() {
  return read_jobs(*connection_, "");
}

Result<std::optional<JobInfo>> MonitorStore::job(std::string_view name) {
  GOODPUT_TRY(std::vector<JobInfo> jobs, read_jobs(*connection_, name));
  return name.empty() || jobs.empty() ? std::nullopt : std::optional(std::move(jobs.front()));
}

Result<std::vector<FilePosition>> MonitorStore::positions(std::string_view job) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT path, device, inode, head_hash, head_bytes, used, seen, is_done FROM "
                           "positions WHERE job = (SELECT id FROM jobs WHERE name = ?) ORDER BY path"));
  query.bind(job);
  std::vector<FilePosition> positions;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return positions;
    positions.push_back(read_position(query));
  }
}

Status MonitorStore::forget_position(std::string_view job, std::string_view path) {
  GOODPUT_TRY(StoreStatement remove,
              connection_->prepare(
                  "DELETE FROM positions WHERE job = (SELECT id FROM jobs WHERE name = ?) AND path = ?"));
  remove.bind(job, path);
  return remove.run();
}

Result<std::string> MonitorStore::intake_state(std::string_view job) {
  return state_of_job(*connection_, "intake_state", job);
}

Result<std::string> MonitorStore::incident_state(std::string_view job) {
  return state_of_job(*connection_, "alert_state", job);
}

Result<bool> MonitorStore::has_step(std::string_view job, StepId id) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT 1 FROM steps WHERE job = (SELECT id FROM jobs WHERE name = ?) AND run "
                           "= ? AND step = ?"));
  query.bind(job, id.run, id.step);
  return query.next();
}

Result<std::optional<StepResult>> MonitorStore::step(std::string_view job, StepId id) {
  const auto read = [&]() -> Result<std::optional<StepResult>> {
    GOODPUT_TRY(const StoreTransaction transaction, StoreTransaction::begin(*connection_, Access::kRead));
    GOODPUT_TRY(const std::optional<std::int64_t> number, find_job(*connection_, job));
    if (!number) return std::optional<StepResult>();
    GOODPUT_TRY(std::optional<StepResult> result, read_step(*connection_, *number, id));
    if (!result) return result;
    GOODPUT_TRY_STATUS(read_details(*connection_, *number, *result));
    GOODPUT_TRY_STATUS(read_exact_workers(*connection_, *number, *result));
    return result;
  };
  Result<std::optional<StepResult>> result = read();
  if (!result) return std::move(result).error().in_file(connection_->path());
  return result;
}

Result<std::optional<OpTrace>> MonitorStore::rows(std::string_view job, StepId id) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT op_columns.content, times FROM step_rows JOIN op_columns ON "
                           "op_columns.id = step_rows.op_columns WHERE job = (SELECT id FROM jobs WHERE "
                           "name = ?) AND run = ? AND step = ?"));
  query.bind(job, id.run, id.step);
  GOODPUT_TRY(const bool is_there, query.next());
  if (!is_there) return std::optional<OpTrace>();
  Result<OpTrace> rows = read_rows(query.bytes(0), query.bytes(1));
  if (!rows) return std::move(rows).error().in_file(connection_->path());
  return std::optional(*std::move(rows));
}

Result<std::vector<StepId>> MonitorStore::steps_with_rows(std::string_view job) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT run, step FROM step_rows WHERE job = (SELECT id FROM jobs WHERE name "
                           "= ?) ORDER BY run, step"));
  query.bind(job);
  return read_ids(query);
}

Result<std::vector<StepId>> MonitorStore::steps_with_details(std::string_view job) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT run, step FROM details WHERE job = (SELECT id FROM jobs WHERE name = "
                           "?) AND has_map IN (0, 1) ORDER BY run, step"));
  query.bind(job);
  return read_ids(query);
}

}  // namespace goodput
