#include "tools/monitor_store/store_schema.h"

#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "tools/monitor_store/store_upgrade.h"

namespace goodput {
namespace {

constexpr std::int64_t kApplicationId = 0x67704d6e;  // "gpMn", as `file` shows it
constexpr std::int64_t kSchemaVersion = 3;

// docs/formats/monitor-store.md says what the columns are.
constexpr const char* kTables = R"(
CREATE TABLE jobs (
  id INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE,
  runs INTEGER NOT NULL DEFAULT 1,
  analysed INTEGER NOT NULL DEFAULT 0,
  incomplete INTEGER NOT NULL DEFAULT 0,
  refused INTEGER NOT NULL DEFAULT 0,
  skipped INTEGER NOT NULL DEFAULT 0,
  intake_state BLOB NOT NULL DEFAULT x'',
  alert_state BLOB NOT NULL DEFAULT x''
);
CREATE TABLE layouts (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  last_used_s REAL,
  content BLOB NOT NULL
);
CREATE TABLE steps (
  job INTEGER NOT NULL,
  run INTEGER NOT NULL,
  step INTEGER NOT NULL,
  slowdown REAL,
  status INTEGER NOT NULL,
  began_s REAL,
  received_s REAL,
  finished_s REAL,
  ops INTEGER NOT NULL,
  recorded_s REAL,
  replayed_s REAL,
  ideal_s REAL,
  launch_slowdown REAL,
  discrepancy REAL,
  worst_slowdown REAL,
  worst_worker INTEGER NOT NULL,
  shape INTEGER NOT NULL,
  cause TEXT NOT NULL,
  gain REAL,
  layout INTEGER NOT NULL,
  PRIMARY KEY (job, run, step)
) WITHOUT ROWID;
CREATE INDEX steps_by_time ON steps (finished_s);
CREATE TABLE peaks (
  job INTEGER NOT NULL,
  run INTEGER NOT NULL,
  block INTEGER NOT NULL,
  step INTEGER NOT NULL,
  slowdown REAL,
  steps INTEGER NOT NULL,
  PRIMARY KEY (job, run, block)
) WITHOUT ROWID;
CREATE TABLE details (
  id INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  has_map INTEGER NOT NULL,
  run INTEGER NOT NULL,
  step INTEGER NOT NULL,
  kept INTEGER NOT NULL,
  minute INTEGER NOT NULL,
  slowdown REAL,
  content BLOB NOT NULL,
  map BLOB
);
CREATE UNIQUE INDEX details_by_step ON details (job, has_map, run, step);
CREATE INDEX details_by_minute ON details (kept, minute);
CREATE TABLE op_columns (
  id INTEGER PRIMARY KEY,
  hash BLOB NOT NULL UNIQUE,
  content BLOB NOT NULL
);
CREATE TABLE step_rows (
  id INTEGER PRIMARY KEY,
  job INTEGER NOT NULL,
  run INTEGER NOT NULL,
  step INTEGER NOT NULL,
  has_alert INTEGER NOT NULL,
  bytes INTEGER NOT NULL,
  op_columns INTEGER NOT NULL,
  exact BLOB NOT NULL,
  times BLOB NOT NULL
);
CREATE UNIQUE INDEX step_rows_by_step ON step_rows (job, run, step, has_alert, bytes);
CREATE INDEX step_rows_by_columns ON step_rows (op_columns);
CREATE TABLE positions (
  job INTEGER NOT NULL,
  path TEXT NOT NULL,
  device INTEGER NOT NULL,
  inode INTEGER NOT NULL,
  head_hash INTEGER NOT NULL,
  head_bytes INTEGER NOT NULL,
  used INTEGER NOT NULL,
  seen INTEGER NOT NULL,
  is_done INTEGER NOT NULL,
  PRIMARY KEY (job, path)
) WITHOUT ROWID;
)";

// What every connection wants. `synchronous = FULL` waits for the disk after every commit: a step counts as
// done then, its log may be rotated away and its alert sent, so it must not be lost with the power either (a
// killed process alone would lose nothing with NORMAL).
constexpr const char* kSettings =
    "PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -2048; "
    "PRAGMA journal_size_limit = 67108864; PRAGMA trusted_schema = OFF";

// Before there are tables. Pages that were freed are used again, and given back when they are many.
constexpr const char* kFileSettings =
    "PRAGMA page_size = 4096; PRAGMA encoding = 'UTF-8'; PRAGMA auto_vacuum = INCREMENTAL; "
    "PRAGMA journal_mode = WAL";

enum class Content { kNothing, kMonitor, kAlerts };

Result<Content> content_of(StoreConnection& connection) {
  GOODPUT_TRY(const std::int64_t id, connection.integer_of("PRAGMA application_id"));
  GOODPUT_TRY(const std::int64_t version, connection.integer_of("PRAGMA user_version"));
  GOODPUT_TRY(const std::int64_t objects, connection.integer_of("SELECT count(*) FROM sqlite_schema"));
  if (id == 0 && version == 0 && objects == 0) return Content::kNothing;
  if (id != kApplicationId)
    return Error{"is a database of another program; use another file", {.file = connection.path()}};
  if (version == kSchemaVersion) return Content::kMonitor;
  if (version == kAlertsSchema) return Content::kAlerts;
  return Error{fmt::format("has schema version {}, but this goodput supports only versions {} and {}; use "
                           "the goodput that wrote this file, or a newer one",
                           version, kAlertsSchema, kSchemaVersion),
               {.file = connection.path()}};
}

}  // namespace

Status prepare_for_writing(StoreConnection& connection) {
  GOODPUT_TRY_STATUS(connection.run(kSettings));
  GOODPUT_TRY(const Content content, content_of(connection));
  if (content == Content::kMonitor) return Ok{};
  if (content == Content::kNothing) GOODPUT_TRY_STATUS(connection.run(kFileSettings));
  GOODPUT_TRY(StoreTransaction transaction,
              StoreTransaction::begin(connection, StoreConnection::Access::kWrite));
  if (content == Content::kNothing) {
    GOODPUT_TRY_STATUS(connection.run(kTables));
    GOODPUT_TRY_STATUS(connection.run(kIncidentTables));
  } else {
    GOODPUT_TRY_STATUS(upgrade_alerts(connection));
  }
  GOODPUT_TRY_STATUS(connection.run(
      fmt::format("PRAGMA application_id = {}; PRAGMA user_version = {}", kApplicationId, kSchemaVersion)));
  return transaction.commit();
}

Result<bool> prepare_for_reading(StoreConnection& connection) {
  GOODPUT_TRY_STATUS(connection.run(kSettings));
  GOODPUT_TRY(const Content content, content_of(connection));
  if (content == Content::kNothing)
    return Error{"is empty; no monitor has written to it yet", {.file = connection.path()}};
  return content == Content::kMonitor;
}

}  // namespace goodput
