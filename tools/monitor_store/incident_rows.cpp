#include "tools/monitor_store/incident_rows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "sim/analysis/verdict_json.h"
#include "sim/live/incident_json.h"
#include "tools/monitor_store/step_writing.h"
#include "tools/monitor_store/store_columns.h"

namespace goodput {
namespace {

constexpr const char* kIncidentColumns =
    "SELECT key, jobs.name, severity, opened_run, opened_step, opened_s, last_run, last_step, closed_run, "
    "closed_step, closed_s, closed_by, merged_into, acknowledged_by, acknowledged_s, muted_by, muted_s, "
    "muted_until_s, slowdown, usd_per_day, page, evidence, verdict, told FROM incidents JOIN jobs ON jobs.id "
    "= "
    "incidents.job ";

Incident read_columns(const StoreStatement& row) {
  Incident incident;
  incident.key = row.text(0);
  incident.job = row.text(1);
  incident.severity = static_cast<AlertSeverity>(std::clamp<std::int64_t>(row.integer(2), 0, 3));
  incident.opened_at = {row.integer_as<std::int32_t>(3), row.integer(4)};
  incident.opened_s = row.real(5);
  incident.last_seen = {row.integer_as<std::int32_t>(6), row.integer(7)};
  if (!row.is_null(8)) incident.closed_at = StepId{row.integer_as<std::int32_t>(8), row.integer(9)};
  incident.closed_s = row.optional_real(10);
  incident.closed_by = row.text(11);
  incident.merged_into = row.text(12);
  if (!row.is_null(13)) incident.acknowledged = IncidentMark{row.text(13), row.real(14)};
  if (!row.is_null(15)) incident.muted = IncidentMute{row.text(15), row.real(16), row.real(17)};
  incident.slowdown = row.optional_real(18);
  incident.usd_per_day = row.optional_real(19);
  incident.page = row.text(20);
  incident.is_told = row.integer(23) != 0;
  return incident;
}

Result<std::vector<Incident>> read_incidents(StoreConnection& connection, StoreStatement query) {
  std::vector<Incident> incidents;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return incidents;
    Incident incident = read_columns(query);
    auto evidence = read_evidence(query.text(21));
    if (!evidence) return std::move(evidence).error().in_file(connection.path());
    incident.evidence = *std::move(evidence);
    auto verdict = read_verdict(query.text(22));
    if (!verdict) return std::move(verdict).error().in_file(connection.path());
    incident.verdict = (*std::move(verdict)).value_or(Verdict{});
    incidents.push_back(std::move(incident));
  }
}

Status queue_deliveries(StoreConnection& connection, const StepCommit& commit, const IncidentNotice& notice) {
  for (const std::string& sink : commit.sinks) {
    GOODPUT_TRY(
        StoreStatement insert,
        connection.prepare("INSERT INTO deliveries (incident, sink, event, attempts, next_try_s, refused) "
                           "SELECT id, ?2, ?3, 0, 0, 0 FROM incidents WHERE key = ?1"));
    insert.bind(notice.key, sink, static_cast<int>(notice.event));
    GOODPUT_TRY_STATUS(insert.run());
    GOODPUT_CHECK(connection.changes() == 1,
                  "a message refers to an incident that is not stored: " + notice.key);
  }
  return Ok{};
}

Delivery read_delivery(const StoreStatement& row) {
  return {.id = row.integer(0),
          .incident = row.text(1),
          .sink = row.text(2),
          .event = static_cast<IncidentEvent>(std::clamp<std::int64_t>(row.integer(3), 0, 2)),
          .attempts = row.integer_as<std::int32_t>(4),
          .next_try_s = row.real(5),
          .is_refused = row.integer(6) != 0};
}

}  // namespace

Status store_incident(StoreConnection& connection, std::int64_t job, const Incident& incident) {
  GOODPUT_TRY(
      StoreStatement insert,
      connection.prepare(
          "INSERT INTO incidents (key, job, subject_type, subject_key, kind, severity, opened_run, "
          "opened_step, opened_s, last_run, last_step, closed_run, closed_step, closed_s, closed_by, "
          "merged_into, acknowledged_by, acknowledged_s, muted_by, muted_s, muted_until_s, slowdown, "
          "cost_s_per_step, usd_per_day, sentence, next_check, page, evidence, verdict, told) VALUES (?, ?, "
          "?, ?, ?, "
          "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (key) DO "
          "UPDATE SET subject_type = excluded.subject_type, subject_key = excluded.subject_key, kind = "
          "excluded.kind, severity = excluded.severity, last_run = excluded.last_run, last_step = "
          "excluded.last_step, closed_run = excluded.closed_run, closed_step = excluded.closed_step, "
          "closed_s = excluded.closed_s, closed_by = excluded.closed_by, merged_into = "
          "excluded.merged_into, acknowledged_by = excluded.acknowledged_by, acknowledged_s = "
          "excluded.acknowledged_s, muted_by = excluded.muted_by, muted_s = excluded.muted_s, "
          "muted_until_s = excluded.muted_until_s, slowdown = excluded.slowdown, cost_s_per_step = "
          "excluded.cost_s_per_step, usd_per_day = excluded.usd_per_day, sentence = excluded.sentence, "
          "next_check = excluded.next_check, page = excluded.page, evidence = excluded.evidence, verdict = "
          "excluded.verdict, told = excluded.told"));
  const Verdict& verdict = incident.verdict;
  const auto closed_run = incident.closed_at ? std::optional(incident.closed_at->run) : std::nullopt;
  const auto closed_step = incident.closed_at ? std::optional(incident.closed_at->step) : std::nullopt;
  const auto& acknowledged = incident.acknowledged;
  const auto& muted = incident.muted;
  const auto cost = verdict.cost ? std::optional(verdict.cost->s_per_step) : std::nullopt;
  const std::string evidence = evidence_text(incident.evidence);
  const std::string verdict_json = verdict_text(verdict);
  insert.bind(incident.key, job, verdict.subject.type, verdict.subject.key, verdict.kind,
              static_cast<int>(incident.severity), incident.opened_at.run, incident.opened_at.step,
              incident.opened_s, incident.last_seen.run, incident.last_seen.step, closed_run, closed_step,
              incident.closed_s, incident.closed_by, incident.merged_into,
              acknowledged ? std::optional<std::string_view>(acknowledged->by) : std::nullopt,
              acknowledged ? std::optional(acknowledged->at_s) : std::nullopt,
              muted ? std::optional<std::string_view>(muted->by) : std::nullopt,
              muted ? std::optional(muted->at_s) : std::nullopt,
              muted ? std::optional(muted->until_s) : std::nullopt, incident.slowdown, cost,
              incident.usd_per_day, verdict.sentence, verdict.next_check, incident.page, evidence,
              verdict_json, incident.is_told);
  return insert.run();
}

Status store_incidents(StoreConnection& connection, std::int64_t job, const StepCommit& commit) {
  for (const Incident& incident : commit.incidents)
    GOODPUT_TRY_STATUS(store_incident(connection, job, incident));
  for (const IncidentNotice& notice : commit.notices)
    GOODPUT_TRY_STATUS(queue_deliveries(connection, commit, notice));
  for (const StepId& step : commit.steps_to_keep)
    GOODPUT_TRY_STATUS(keep_for_incident(connection, job, step));
  return Ok{};
}

Status MonitorStore::update_delivery(const Delivery& delivery) {
  GOODPUT_TRY(
      StoreStatement update,
      connection_->prepare("UPDATE deliveries SET attempts = ?, next_try_s = ?, refused = ? WHERE id = ?"));
  update.bind(delivery.attempts, delivery.next_try_s, delivery.is_refused, delivery.id);
  return update.run();
}

Status MonitorStore::finish_delivery(std::int64_t id) {
  GOODPUT_TRY(StoreStatement remove, connection_->prepare("DELETE FROM deliveries WHERE id = ?"));
  remove.bind(id);
  return remove.run();
}

Result<std::vector<Delivery>> MonitorStore::deliveries() {
  std::vector<Delivery> waiting;
  GOODPUT_TRY(StoreStatement query,
              connection_->prepare("SELECT deliveries.id, incidents.key, sink, event, attempts, next_try_s, "
                                   "refused FROM deliveries JOIN incidents ON incidents.id = "
                                   "deliveries.incident ORDER BY deliveries.id"));
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return waiting;
    waiting.push_back(read_delivery(query));
  }
}

Result<std::vector<Incident>> MonitorStore::incidents(std::string_view job, bool only_open,
                                                      std::size_t max_count) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare(std::string(kIncidentColumns) +
                           "WHERE (?1 = '' OR jobs.name = ?1) AND (NOT ?2 OR closed_s IS NULL) ORDER BY "
                           "incidents.id DESC LIMIT ?3"));
  constexpr std::size_t kAll = std::numeric_limits<std::int32_t>::max();
  query.bind(job, only_open, std::min(max_count, kAll));
  return read_incidents(*connection_, std::move(query));
}

Result<std::optional<Incident>> MonitorStore::incident(std::string_view key) {
  GOODPUT_TRY(StoreStatement query, connection_->prepare(std::string(kIncidentColumns) + "WHERE key = ?"));
  query.bind(key);
  GOODPUT_TRY(std::vector<Incident> found, read_incidents(*connection_, std::move(query)));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

}  // namespace goodput
