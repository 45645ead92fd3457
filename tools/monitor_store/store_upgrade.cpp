#include "tools/monitor_store/store_upgrade.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/analysis/verdict_json.h"
#include "sim/base/hash.h"
#include "sim/live/incident.h"
#include "tools/monitor_store/blob_archive.h"
#include "tools/monitor_store/incident_rows.h"

namespace goodput {
namespace {

struct OldAlert {
  std::int64_t id = 0;
  std::int64_t job = 0;
  Incident incident;
};

// By how the summary of such an alert began.
std::string kind_without_cause(const std::string& summary) {
  if (summary.starts_with("no step for ")) return kSilenceKind;
  return summary.find(" incomplete") != std::string::npos ? kIncompleteKind : kUnexplained;
}

// As it was sent to receivers.
std::string alert_key(std::int64_t id, const Incident& alert, const std::string& rule) {
  Hash hash;
  hash.add(std::string_view(alert.job));
  hash.add(std::string_view(rule));
  hash.add(alert.opened_s);
  return fmt::format("goodput-{}-{:016x}", id, hash.value());
}

Verdict old_verdict(const StoreStatement& row, std::vector<std::string> fix) {
  Verdict verdict;
  const std::string cause = row.text(9);
  verdict.sentence = row.text(16);
  verdict.kind = cause.empty() ? kind_without_cause(verdict.sentence) : cause;
  verdict.subject = {"job", verdict.kind == kSilenceKind ? "job:silence" : "job"};
  if (!row.is_null(10)) {
    verdict.workers = {{row.integer_as<std::size_t>(10), row.integer_as<std::size_t>(11),
                        row.integer_as<std::int32_t>(12), row.text(13)}};
    verdict.subject = {"worker", fmt::format("worker:{}:{}", row.integer(10), row.integer(11))};
  }
  const double slowdown = row.real(8);
  const double lost_s = row.real(14);
  if (slowdown > 1 && lost_s > 0) {
    const double share = 1 - 1 / slowdown;
    verdict.cost = Verdict::Cost{lost_s / share, lost_s, share, slowdown};
  }
  verdict.next_check = row.text(17);
  verdict.fix = std::move(fix);
  return verdict;
}

Result<std::vector<OldAlert>> read_alerts(StoreConnection& connection) {
  GOODPUT_TRY(
      StoreStatement query,
      connection.prepare(
          "SELECT alerts.id, alerts.job, rule, opened_run, opened_step, opened_s, closed_run, closed_step, "
          "slowdown, cause, worker_dp_rank, worker_stage, worker_rank, worker_host, cost_s_per_step, "
          "usd_per_day, summary, next_check, fix, verdict, severity, closed_s, jobs.name FROM alerts JOIN "
          "jobs ON jobs.id = alerts.job ORDER BY alerts.id"));
  std::vector<OldAlert> alerts;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return alerts;
    std::vector<std::string> fix;
    BlobReader reader(query.bytes(18));
    reader(fix);
    if (!reader.is_good()) return Error{"contains damaged text", {.file = connection.path()}};
    auto verdict = read_verdict(query.text(19));
    if (!verdict) return std::move(verdict).error().in_file(connection.path());
    OldAlert alert{query.integer(0), query.integer(1), {}};
    Incident& incident = alert.incident;
    incident.job = query.text(22);
    incident.severity = static_cast<AlertSeverity>(std::clamp<std::int64_t>(query.integer(20), 0, 3));
    incident.verdict = *verdict ? **std::move(verdict) : old_verdict(query, std::move(fix));
    incident.opened_at = incident.last_seen = {query.integer_as<std::int32_t>(3), query.integer(4)};
    incident.opened_s = query.real(5);
    if (!query.is_null(6)) incident.closed_at = StepId{query.integer_as<std::int32_t>(6), query.integer(7)};
    incident.closed_s = query.optional_real(21);
    incident.evidence = {
        {query.text(2), incident.verdict.kind, incident.severity, incident.opened_at, incident.is_open()}};
    incident.is_told = true;
    if (query.real(8) > 1) incident.slowdown = query.real(8);
    incident.usd_per_day = query.optional_real(15);
    // Receivers know open alerts by this key, and wait for their end.
    incident.key = incident.is_open()
                       ? alert_key(alert.id, incident, query.text(2))
                       : incident_key(incident.job, incident.verdict.subject, incident.opened_at);
    alerts.push_back(std::move(alert));
  }
}

// Two rules noticed the same thing at the same step, or both alerts are open.
bool are_same(const OldAlert& a, const OldAlert& b) {
  return a.job == b.job && a.incident.verdict.subject == b.incident.verdict.subject &&
         (a.incident.key == b.incident.key || (a.incident.is_open() && b.incident.is_open()));
}

void add_evidence(const OldAlert& alert, Incident& incident) {
  incident.evidence.push_back(alert.incident.evidence.front());
  incident.severity = std::max(incident.severity, alert.incident.severity);
  if (incident.is_open()) return;
  const bool is_later = alert.incident.is_open() || *alert.incident.closed_s > *incident.closed_s;
  if (!is_later) return;
  incident.closed_at = alert.incident.closed_at;
  incident.closed_s = alert.incident.closed_s;
}

constexpr const char* kOldDeliveries = "ALTER TABLE deliveries RENAME TO old_deliveries";
constexpr const char* kDropOld = "DROP TABLE old_deliveries; DROP TABLE alerts";

}  // namespace

const char* const kIncidentTables = R"(
CREATE TABLE incidents (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  key TEXT NOT NULL UNIQUE,
  job INTEGER NOT NULL,
  subject_type TEXT NOT NULL,
  subject_key TEXT NOT NULL,
  kind TEXT NOT NULL,
  severity INTEGER NOT NULL,
  opened_run INTEGER NOT NULL,
  opened_step INTEGER NOT NULL,
  opened_s REAL,
  last_run INTEGER NOT NULL,
  last_step INTEGER NOT NULL,
  closed_run INTEGER,
  closed_step INTEGER,
  closed_s REAL,
  closed_by TEXT NOT NULL,
  merged_into TEXT NOT NULL,
  acknowledged_by TEXT,
  acknowledged_s REAL,
  muted_by TEXT,
  muted_s REAL,
  muted_until_s REAL,
  told INTEGER NOT NULL,
  slowdown REAL,
  cost_s_per_step REAL,
  usd_per_day REAL,
  sentence TEXT NOT NULL,
  next_check TEXT NOT NULL,
  page TEXT NOT NULL,
  evidence TEXT NOT NULL,
  verdict TEXT NOT NULL
);
CREATE INDEX incidents_by_job ON incidents (job, closed_s);
CREATE TABLE deliveries (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  incident INTEGER NOT NULL,
  sink TEXT NOT NULL,
  event INTEGER NOT NULL,
  attempts INTEGER NOT NULL,
  next_try_s REAL,
  refused INTEGER NOT NULL
);
)";

Status upgrade_alerts(StoreConnection& connection) {
  GOODPUT_TRY(std::vector<OldAlert> alerts, read_alerts(connection));
  GOODPUT_TRY_STATUS(connection.run(kOldDeliveries));
  GOODPUT_TRY_STATUS(connection.run(kIncidentTables));
  std::vector<OldAlert> kept;
  std::map<std::int64_t, std::string> keys;  // by id of the alert
  for (OldAlert& alert : alerts) {
    const auto same = std::ranges::find_if(kept, [&](const OldAlert& one) { return are_same(one, alert); });
    if (same == kept.end()) {
      keys[alert.id] = alert.incident.key;
      kept.push_back(std::move(alert));
    } else {
      keys[alert.id] = same->incident.key;
      add_evidence(alert, same->incident);
    }
  }
  for (const OldAlert& alert : kept)
    GOODPUT_TRY_STATUS(store_incident(connection, alert.job, alert.incident));
  for (const auto& [alert, key] : keys) {
    GOODPUT_TRY(StoreStatement insert,
                connection.prepare(
                    "INSERT INTO deliveries (incident, sink, event, attempts, next_try_s, refused) SELECT "
                    "incidents.id, sink, CASE closes WHEN 0 THEN 0 ELSE 2 END, attempts, next_try_s, refused "
                    "FROM old_deliveries JOIN incidents ON incidents.key = ?1 WHERE alert = ?2 AND "
                    "(closes = 0 OR closed_s IS NOT NULL) ORDER BY old_deliveries.id"));
    insert.bind(key, alert);
    GOODPUT_TRY_STATUS(insert.run());
  }
  return connection.run(kDropOld);
}

}  // namespace goodput
