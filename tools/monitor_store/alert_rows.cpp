#include "tools/monitor_store/alert_rows.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <string>
#include <utility>

#include "sim/analysis/verdict_json.h"
#include "tools/monitor_store/step_blobs.h"
#include "tools/monitor_store/step_writing.h"
#include "tools/monitor_store/store_columns.h"

namespace goodput {
namespace {

constexpr const char* kAlertColumns =
    "SELECT alerts.id, jobs.name, rule, opened_run, opened_step, opened_s, closed_run, closed_step, "
    "closed_s, "
    "slowdown, cause, worker_dp_rank, worker_stage, worker_rank, worker_host, worker_slowdown, "
    "cost_s_per_step, "
    "usd_per_day, summary, next_check, fix, page, severity, verdict FROM alerts JOIN jobs ON jobs.id = "
    "alerts.job ";

Result<std::int64_t> open_alert(StoreConnection& connection, std::int64_t job, const Alert& alert) {
  GOODPUT_TRY(StoreStatement insert,
              connection.prepare(
                  "INSERT INTO alerts (job, rule, opened_run, opened_step, opened_s, slowdown, cause, "
                  "worker_dp_rank, worker_stage, worker_rank, worker_host, worker_slowdown, cost_s_per_step, "
                  "usd_per_day, summary, next_check, fix, page, severity, verdict) VALUES (?, ?, ?, ?, ?, ?, "
                  "?, ?, ?, ?, "
                  "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  const auto of_worker = [&alert](std::int32_t WorkerPlace::*member) {
    return alert.worker ? std::optional((*alert.worker).*member) : std::nullopt;
  };
  const std::optional<std::string> host = alert.worker ? std::optional(alert.worker->host) : std::nullopt;
  const std::string fix = texts_blob(alert.fix);
  const std::string verdict = verdict_text(alert.verdict);
  insert.bind(job, alert.rule, alert.opened_at.run, alert.opened_at.step, alert.opened_s, alert.slowdown,
              alert.cause, of_worker(&WorkerPlace::dp_rank), of_worker(&WorkerPlace::stage),
              of_worker(&WorkerPlace::rank), host, alert.worker_slowdown, alert.cost_s_per_step,
              alert.usd_per_day, alert.summary, alert.next_check, SqlBlob{fix}, alert.page,
              static_cast<std::int32_t>(alert.severity), verdict);
  GOODPUT_TRY_STATUS(insert.run());
  return connection.last_row();
}

Status close_alert(StoreConnection& connection, std::int64_t id, const Alert& alert) {
  GOODPUT_TRY(StoreStatement update,
              connection.prepare(
                  "UPDATE alerts SET closed_run = ?, closed_step = ?, closed_s = ? WHERE id = ? AND closed_s "
                  "IS NULL"));
  const auto at = alert.closed_at;
  update.bind(at ? std::optional(at->run) : std::nullopt, at ? std::optional(at->step) : std::nullopt,
              alert.closed_s, id);
  GOODPUT_TRY_STATUS(update.run());
  GOODPUT_CHECK(connection.changes() == 1, "an alert closes that is not open: " + alert.rule);
  return Ok{};
}

Status queue_deliveries(StoreConnection& connection, const std::vector<std::string>& sinks,
                        std::int64_t alert, bool closes) {
  for (const std::string& sink : sinks) {
    GOODPUT_TRY(
        StoreStatement insert,
        connection.prepare("INSERT INTO deliveries (alert, sink, closes, attempts, next_try_s, refused) "
                           "VALUES (?, ?, ?, 0, 0, 0)"));
    insert.bind(alert, sink, closes);
    GOODPUT_TRY_STATUS(insert.run());
  }
  return Ok{};
}

Alert read_alert(const StoreStatement& row, std::vector<std::string> fix) {
  Alert alert;
  alert.id = row.integer(0);
  alert.job = row.text(1);
  alert.rule = row.text(2);
  alert.opened_at = {row.integer_as<std::int32_t>(3), row.integer(4)};
  alert.opened_s = row.real(5);
  if (!row.is_null(6)) alert.closed_at = StepId{row.integer_as<std::int32_t>(6), row.integer(7)};
  alert.closed_s = row.optional_real(8);
  alert.slowdown = row.real(9);
  alert.cause = row.text(10);
  if (!row.is_null(11)) {
    alert.worker = WorkerPlace{row.integer_as<std::int32_t>(11), row.integer_as<std::int32_t>(12),
                               row.integer_as<std::int32_t>(13), row.text(14)};
  }
  alert.worker_slowdown = row.real(15);
  alert.cost_s_per_step = row.real(16);
  alert.usd_per_day = row.optional_real(17);
  alert.summary = row.text(18);
  alert.next_check = row.text(19);
  alert.fix = std::move(fix);
  alert.page = row.text(21);
  alert.severity = static_cast<AlertSeverity>(std::clamp<std::int64_t>(row.integer(22), 0, 3));
  return alert;
}

Result<std::vector<Alert>> read_alerts(StoreConnection& connection, StoreStatement query) {
  std::vector<Alert> alerts;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return alerts;
    auto fix = read_texts_blob(query.bytes(20));
    if (!fix) return std::move(fix).error().in_file(connection.path());
    alerts.push_back(read_alert(query, *std::move(fix)));
    auto verdict = read_verdict(query.text(23));
    if (!verdict) return std::move(verdict).error().in_file(connection.path());
    alerts.back().verdict = *std::move(verdict);
  }
}

Delivery read_delivery(const StoreStatement& row) {
  return {.id = row.integer(0),
          .alert = row.integer(1),
          .sink = row.text(2),
          .closes = row.integer(3) != 0,
          .attempts = row.integer_as<std::int32_t>(4),
          .next_try_s = row.real(5),
          .is_refused = row.integer(6) != 0};
}

}  // namespace

Result<std::vector<Alert>> store_alerts(StoreConnection& connection, std::int64_t job,
                                        const StepCommit& commit) {
  std::vector<Alert> opened = commit.opened;
  for (Alert& alert : opened) {
    alert.job = commit.job;
    GOODPUT_TRY(alert.id, open_alert(connection, job, alert));
    GOODPUT_TRY_STATUS(keep_for_alert(connection, job, alert.opened_at));
    GOODPUT_TRY_STATUS(queue_deliveries(connection, commit.sinks, alert.id, false));
  }
  for (const Alert& alert : commit.closed) {
    std::int64_t id = alert.id;
    if (id == 0) {
      const auto found = std::find_if(opened.begin(), opened.end(),
                                      [&](const Alert& other) { return other.rule == alert.rule; });
      GOODPUT_CHECK(found != opened.end(), "an alert closes that was never opened: " + alert.rule);
      id = found->id;
      found->closed_at = alert.closed_at;
      found->closed_s = alert.closed_s;
    }
    GOODPUT_TRY_STATUS(close_alert(connection, id, alert));
    GOODPUT_TRY_STATUS(queue_deliveries(connection, commit.sinks, id, true));
  }
  return opened;
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
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT id, alert, sink, closes, attempts, next_try_s, refused FROM deliveries "
                           "ORDER BY id"));
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return waiting;
    waiting.push_back(read_delivery(query));
  }
}

Result<std::vector<Alert>> MonitorStore::alerts(std::string_view job, bool only_open, std::size_t most) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare(std::string(kAlertColumns) +
                           "WHERE (?1 = '' OR jobs.name = ?1) AND (NOT ?2 OR closed_s IS NULL) ORDER BY "
                           "alerts.id DESC LIMIT ?3"));
  constexpr std::size_t kAll = std::numeric_limits<std::int32_t>::max();
  query.bind(job, only_open, std::min(most, kAll));
  return read_alerts(*connection_, std::move(query));
}

Result<std::optional<Alert>> MonitorStore::alert(std::int64_t id) {
  GOODPUT_TRY(StoreStatement query, connection_->prepare(std::string(kAlertColumns) + "WHERE alerts.id = ?"));
  query.bind(id);
  GOODPUT_TRY(std::vector<Alert> found, read_alerts(*connection_, std::move(query)));
  return found.empty() ? std::nullopt : std::optional(std::move(found.front()));
}

}  // namespace goodput
