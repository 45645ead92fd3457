#include "tools/monitor_store/step_writing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/monitor_store/packed_bytes.h"
#include "tools/monitor_store/rows_blob.h"
#include "tools/monitor_store/step_blobs.h"
#include "tools/monitor_store/store_columns.h"
#include "tools/monitor_store/worker_map_blob.h"

namespace goodput {
namespace {

// The row of `table` whose hash this is, and whether it is new and still without its content. `table` has the
// columns id, hash and content.
Result<std::optional<std::int64_t>> find_by_hash(StoreConnection& connection, std::string_view table,
                                                 std::string_view hash) {
  GOODPUT_TRY(StoreStatement statement,
              connection.prepare(fmt::format("SELECT id FROM {} WHERE hash = ?", table)));
  statement.bind(SqlBlob{hash});
  GOODPUT_TRY(const bool is_there, statement.next());
  return is_there ? std::optional(statement.integer(0)) : std::nullopt;
}

// Layouts are stored once; the time says until when steps may name them.
Result<std::int64_t> store_layout(StoreConnection& connection, const StepResult& result) {
  const std::string bytes = layout_bytes(result.layout);
  BytesHash hashing;
  hashing.add(bytes);
  const std::string hash = hashing.value();
  GOODPUT_TRY(const std::optional<std::int64_t> found, find_by_hash(connection, "layouts", hash));
  if (found) {
    GOODPUT_TRY(StoreStatement update,
                connection.prepare("UPDATE layouts SET last_used_s = max(last_used_s, ?) WHERE id = ?"));
    update.bind(result.totals.finished_s, *found);
    GOODPUT_TRY_STATUS(update.run());
    return *found;
  }
  GOODPUT_TRY(StoreStatement insert,
              connection.prepare("INSERT INTO layouts (hash, last_used_s, content) VALUES (?, ?, ?)"));
  const std::string blob = layout_blob(bytes);
  insert.bind(SqlBlob{hash}, result.totals.finished_s, SqlBlob{blob});
  GOODPUT_TRY_STATUS(insert.run());
  return connection.last_row();
}

// Whether the step is new.
Result<bool> store_totals(StoreConnection& connection, std::int64_t job, const StepTotals& totals,
                          std::int64_t layout) {
  const std::string sql =
      fmt::format("INSERT INTO steps (job, layout, {}) VALUES (?, ?, {}) ON CONFLICT DO NOTHING",
                  kTotalsColumns, fmt::join(std::vector<char>(kTotalsCount, '?'), ", "));
  GOODPUT_TRY(StoreStatement insert, connection.prepare(sql));
  insert.bind(job, layout, totals.id.run, totals.id.step, totals.slowdown, static_cast<int>(totals.status),
              totals.began_s, totals.received_s, totals.finished_s, totals.ops, totals.recorded_s,
              totals.replayed_s, totals.ideal_s, totals.launch_slowdown, totals.discrepancy,
              totals.worst_slowdown, totals.worst_worker, static_cast<int>(totals.shape), totals.cause,
              totals.gain);
  GOODPUT_TRY_STATUS(insert.run());
  return connection.changes() > 0;
}

Status count_step(StoreConnection& connection, std::int64_t job, const StepTotals& totals) {
  const std::string_view status = kStepStatuses[static_cast<std::size_t>(totals.status)];
  GOODPUT_TRY(StoreStatement update,
              connection.prepare(
                  fmt::format("UPDATE jobs SET {0} = {0} + 1, runs = max(runs, ?) WHERE id = ?", status)));
  update.bind(static_cast<std::int64_t>(totals.id.run) + 1, job);
  return update.run();
}

Status raise_peak(StoreConnection& connection, std::int64_t job, const StepTotals& totals) {
  GOODPUT_TRY(
      StoreStatement insert,
      connection.prepare("INSERT INTO peaks (job, run, block, step, slowdown, steps) VALUES (?1, ?2, ?3, "
                         "?4, ?5, 1) ON CONFLICT DO UPDATE SET steps = steps + 1, step = CASE WHEN "
                         "ifnull(?5, 0) > ifnull(slowdown, 0) THEN ?4 ELSE step END, slowdown = "
                         "max(ifnull(?5, 0), ifnull(slowdown, 0))"));
  insert.bind(job, totals.id.run, totals.id.step >> kBlockBits, totals.id.step, totals.slowdown);
  return insert.run();
}

Status store_details(StoreConnection& connection, std::int64_t job, const StepRecord& record) {
  const StepResult& result = record.result;
  const std::string content = details_blob(result);
  const bool has_map = !result.worker_slowdown.empty();
  if (content.empty() && !has_map) return Ok{};
  std::string map;
  if (has_map) map = map_blob({result.layout.dp_size, result.layout.pp_size, result.worker_slowdown});
  const DetailsKept kept = record.keeps_rows ? DetailsKept::kForItsIncident : DetailsKept::kForNow;
  GOODPUT_TRY(StoreStatement insert,
              connection.prepare("INSERT INTO details (job, has_map, run, step, kept, minute, slowdown, "
                                 "content, map) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.bind(job, has_map, result.totals.id.run, result.totals.id.step, static_cast<int>(kept),
              minute_of(result.totals.finished_s), result.totals.slowdown, SqlBlob{content},
              has_map ? std::optional(SqlBlob{map}) : std::nullopt);
  return insert.run();
}

Result<std::int64_t> store_op_columns(StoreConnection& connection, const OpTrace& rows) {
  const std::string hash = op_columns_hash(rows);
  GOODPUT_TRY(const std::optional<std::int64_t> found, find_by_hash(connection, "op_columns", hash));
  if (found) return *found;
  const std::string blob = op_columns_blob(rows);
  GOODPUT_TRY(StoreStatement insert,
              connection.prepare("INSERT INTO op_columns (hash, content) VALUES (?, ?)"));
  insert.bind(SqlBlob{hash}, SqlBlob{blob});
  GOODPUT_TRY_STATUS(insert.run());
  return connection.last_row();
}

Status store_rows(StoreConnection& connection, std::int64_t job, const StepRecord& record) {
  if (!record.rows) return Ok{};
  GOODPUT_TRY(const std::int64_t columns, store_op_columns(connection, *record.rows));
  const std::string times = times_blob(*record.rows);
  const std::string exact = workers_blob(record.result);
  GOODPUT_TRY(
      StoreStatement insert,
      connection.prepare("INSERT INTO step_rows (job, run, step, has_alert, bytes, op_columns, exact, "
                         "times) VALUES (?, ?, ?, ?, ?, ?, ?, ?)"));
  const StepId id = record.result.totals.id;
  insert.bind(job, id.run, id.step, record.keeps_rows, times.size() + exact.size(), columns, SqlBlob{exact},
              SqlBlob{times});
  return insert.run();
}

// The steps of a job at which an incident opened, or none, that have rows, the newest first: id and bytes.
Result<std::vector<std::pair<std::int64_t, std::int64_t>>> rows_kept(StoreConnection& connection,
                                                                     std::int64_t job, bool has_incident) {
  std::vector<std::pair<std::int64_t, std::int64_t>> kept;
  GOODPUT_TRY(
      StoreStatement query,
      connection.prepare("SELECT id, bytes FROM step_rows WHERE job = ? AND has_alert = ? ORDER BY run "
                         "DESC, step DESC"));
  query.bind(job, has_incident);
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return kept;
    kept.emplace_back(query.integer(0), query.integer(1));
  }
}

}  // namespace

std::int64_t minute_of(double unix_s) {
  constexpr double kMostMinutes = 1e15;
  const double minute = std::floor(unix_s / 60);
  return std::isnan(minute) ? 0 : static_cast<std::int64_t>(std::clamp(minute, -kMostMinutes, kMostMinutes));
}

Status store_step(StoreConnection& connection, std::int64_t job, const StepRecord& record) {
  GOODPUT_TRY(const std::int64_t layout, store_layout(connection, record.result));
  GOODPUT_TRY(const bool is_new, store_totals(connection, job, record.result.totals, layout));
  if (!is_new) return Ok{};
  GOODPUT_TRY_STATUS(count_step(connection, job, record.result.totals));
  GOODPUT_TRY_STATUS(raise_peak(connection, job, record.result.totals));
  GOODPUT_TRY_STATUS(store_details(connection, job, record));
  return store_rows(connection, job, record);
}

Status renew_peak(StoreConnection& connection, std::int64_t job, StepId removed) {
  const std::int64_t block = removed.step >> kBlockBits;
  GOODPUT_TRY(StoreStatement remove,
              connection.prepare("DELETE FROM peaks WHERE job = ? AND run = ? AND block = ?"));
  remove.bind(job, removed.run, block);
  GOODPUT_TRY_STATUS(remove.run());
  GOODPUT_TRY(
      StoreStatement insert,
      connection.prepare("INSERT INTO peaks (job, run, block, step, slowdown, steps) SELECT job, run, ?3, "
                         "step, max(slowdown), count(*) FROM steps WHERE job = ?1 AND run = ?2 AND step "
                         "BETWEEN ?4 AND ?5 GROUP BY job, run"));
  const std::int64_t first = block * (std::int64_t{1} << kBlockBits);
  insert.bind(job, removed.run, block, first, first + (std::int64_t{1} << kBlockBits) - 1);
  return insert.run();
}

Status keep_for_incident(StoreConnection& connection, std::int64_t job, StepId id) {
  GOODPUT_TRY(
      StoreStatement details,
      connection.prepare(
          "UPDATE details SET kept = ? WHERE job = ? AND has_map IN (0, 1) AND run = ? AND step = ?"));
  details.bind(static_cast<int>(DetailsKept::kForItsIncident), job, id.run, id.step);
  GOODPUT_TRY_STATUS(details.run());
  GOODPUT_TRY(
      StoreStatement rows,
      connection.prepare("UPDATE step_rows SET has_alert = 1 WHERE job = ? AND run = ? AND step = ?"));
  rows.bind(job, id.run, id.step);
  return rows.run();
}

Status drop_old_rows(StoreConnection& connection, std::int64_t job, const StoreOptions& options) {
  GOODPUT_TRY(const auto last, rows_kept(connection, job, false));
  for (std::size_t i = static_cast<std::size_t>(options.rows_of_last); i < last.size(); ++i)
    GOODPUT_TRY_STATUS(drop_rows(connection, last[i].first));
  GOODPUT_TRY(const auto of_incidents, rows_kept(connection, job, true));
  std::int64_t bytes = 0;
  for (std::size_t i = 0; i < of_incidents.size(); ++i) {
    bytes += of_incidents[i].second;
    const bool is_within =
        i < static_cast<std::size_t>(options.rows_of_incidents) && bytes <= options.rows_of_incidents_bytes;
    if (i > 0 && !is_within) GOODPUT_TRY_STATUS(drop_rows(connection, of_incidents[i].first));
  }
  return Ok{};
}

Status drop_rows(StoreConnection& connection, std::int64_t row) {
  GOODPUT_TRY(StoreStatement query, connection.prepare("SELECT op_columns FROM step_rows WHERE id = ?"));
  query.bind(row);
  GOODPUT_TRY(const bool is_there, query.next());
  if (!is_there) return Ok{};
  const std::int64_t columns = query.integer(0);
  GOODPUT_TRY(StoreStatement remove, connection.prepare("DELETE FROM step_rows WHERE id = ?"));
  remove.bind(row);
  GOODPUT_TRY_STATUS(remove.run());
  GOODPUT_TRY(
      StoreStatement unused,
      connection.prepare("DELETE FROM op_columns WHERE id = ?1 AND NOT EXISTS (SELECT 1 FROM step_rows "
                         "WHERE op_columns = ?1)"));
  unused.bind(columns);
  return unused.run();
}

}  // namespace goodput
