// What is let go of, a piece at a time, so that no commit waits long.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/step_writing.h"
#include "tools/monitor_store/store_connection.h"

namespace goodput {
namespace {

constexpr std::size_t kStepsAPiece = 500;
constexpr std::size_t kMinutesAPiece = 60;
constexpr std::int64_t kPagesAPiece = 2000;
// Free pages are used by the steps to come; only when there are more than a quarter and this many, a job has
// gone for good, and they are given back.
constexpr std::int64_t kFreePages = 16'384;

double seconds_of(std::chrono::seconds duration) {
  return static_cast<double>(duration.count());
}

struct StoredStep {
  std::int64_t job;
  StepId id;
};

Result<std::vector<StoredStep>> steps_before(StoreConnection& connection, double limit_s) {
  GOODPUT_TRY(StoreStatement query,
              connection.prepare("SELECT job, run, step FROM steps WHERE finished_s < ? ORDER BY finished_s "
                                 "LIMIT ?"));
  query.bind(limit_s, kStepsAPiece);
  std::vector<StoredStep> steps;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return steps;
    steps.push_back({query.integer(0), {query.integer_as<std::int32_t>(1), query.integer(2)}});
  }
}

Status remove_step(StoreConnection& connection, const StoredStep& step) {
  GOODPUT_TRY(StoreStatement rows,
              connection.prepare("SELECT id FROM step_rows WHERE job = ? AND run = ? AND step = ?"));
  rows.bind(step.job, step.id.run, step.id.step);
  GOODPUT_TRY(const bool has_rows, rows.next());
  if (has_rows) GOODPUT_TRY_STATUS(drop_rows(connection, rows.integer(0)));
  GOODPUT_TRY(
      StoreStatement details,
      connection.prepare("DELETE FROM details WHERE job = ? AND has_map IN (0, 1) AND run = ? AND step = ?"));
  details.bind(step.job, step.id.run, step.id.step);
  GOODPUT_TRY_STATUS(details.run());
  GOODPUT_TRY(StoreStatement totals,
              connection.prepare("DELETE FROM steps WHERE job = ? AND run = ? AND step = ?"));
  totals.bind(step.job, step.id.run, step.id.step);
  return totals.run();
}

// Whether there are more.
Result<bool> remove_old_steps(StoreConnection& connection, double limit_s) {
  GOODPUT_TRY(const std::vector<StoredStep> steps, steps_before(connection, limit_s));
  for (const StoredStep& step : steps) GOODPUT_TRY_STATUS(remove_step(connection, step));
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const StoredStep& step = steps[i];
    const bool is_last_of_block = i + 1 == steps.size() || steps[i + 1].job != step.job ||
                                  steps[i + 1].id.run != step.id.run ||
                                  (steps[i + 1].id.step >> kBlockBits) != (step.id.step >> kBlockBits);
    if (is_last_of_block) GOODPUT_TRY_STATUS(renew_peak(connection, step.job, step.id));
  }
  return steps.size() == kStepsAPiece;
}

// What nothing names any more.
Status remove_old_rest(StoreConnection& connection, double limit_s) {
  GOODPUT_TRY(StoreStatement layouts, connection.prepare("DELETE FROM layouts WHERE last_used_s < ?"));
  layouts.bind(limit_s);
  GOODPUT_TRY_STATUS(layouts.run());
  GOODPUT_TRY(
      StoreStatement incidents,
      connection.prepare("DELETE FROM incidents WHERE closed_s < ? AND NOT EXISTS (SELECT 1 FROM deliveries "
                         "WHERE deliveries.incident = incidents.id)"));
  incidents.bind(limit_s);
  return incidents.run();
}

// Of a minute of a job, which maps (or details of steps without) stand.
struct MinuteOfJob {
  std::int64_t job;
  bool has_map;
  std::int64_t minute;
};

// The oldest one that was not thinned out yet.
Result<std::optional<MinuteOfJob>> next_minute(StoreConnection& connection, std::int64_t limit) {
  GOODPUT_TRY(
      StoreStatement query,
      connection.prepare("SELECT job, has_map, minute FROM details WHERE kept = ? AND minute < ? ORDER "
                         "BY minute LIMIT 1"));
  query.bind(static_cast<int>(DetailsKept::kForNow), limit);
  GOODPUT_TRY(const bool has_row, query.next());
  if (!has_row) return std::optional<MinuteOfJob>();
  return std::optional(MinuteOfJob{query.integer(0), query.integer(1) != 0, query.integer(2)});
}

// The one with the largest slowdown stays, of several the earliest step.
Status thin_out_minute(StoreConnection& connection, const MinuteOfJob& minute) {
  GOODPUT_TRY(StoreStatement query, connection.prepare("SELECT id FROM details INDEXED BY details_by_minute "
                                                       "WHERE kept IN (?, ?) AND minute = ? AND job = ? AND "
                                                       "has_map = ? ORDER BY slowdown DESC, run, step"));
  query.bind(static_cast<int>(DetailsKept::kForNow), static_cast<int>(DetailsKept::kForItsMinute),
             minute.minute, minute.job, minute.has_map);
  std::vector<std::int64_t> rows;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) break;
    rows.push_back(query.integer(0));
  }
  GOODPUT_TRY(StoreStatement keep, connection.prepare("UPDATE details SET kept = ? WHERE id = ?"));
  keep.bind(static_cast<int>(DetailsKept::kForItsMinute), rows.front());
  GOODPUT_TRY_STATUS(keep.run());
  GOODPUT_TRY(StoreStatement remove, connection.prepare("DELETE FROM details WHERE id = ?"));
  for (std::size_t i = 1; i < rows.size(); ++i) {
    remove.bind(rows[i]);
    GOODPUT_TRY_STATUS(remove.run());
  }
  return Ok{};
}

Result<bool> thin_out_details(StoreConnection& connection, std::int64_t limit) {
  for (std::size_t i = 0; i < kMinutesAPiece; ++i) {
    GOODPUT_TRY(const std::optional<MinuteOfJob> minute, next_minute(connection, limit));
    if (!minute) return false;
    GOODPUT_TRY_STATUS(thin_out_minute(connection, *minute));
  }
  return true;
}

Result<bool> give_pages_back(StoreConnection& connection) {
  GOODPUT_TRY(const std::int64_t free_pages, connection.integer_of("PRAGMA freelist_count"));
  GOODPUT_TRY(const std::int64_t pages, connection.integer_of("PRAGMA page_count"));
  if (free_pages < kFreePages || free_pages < pages / 4) return false;
  GOODPUT_TRY_STATUS(connection.run("PRAGMA incremental_vacuum(" + std::to_string(kPagesAPiece) + ")"));
  return true;
}

}  // namespace

Result<bool> MonitorStore::thin_out(double now_s) {
  GOODPUT_TRY(StoreTransaction transaction,
              StoreTransaction::begin(*connection_, StoreConnection::Access::kWrite));
  const double keep_after_s = now_s - seconds_of(options_.keep);
  GOODPUT_TRY(const bool has_steps, remove_old_steps(*connection_, keep_after_s));
  // Before that something still names them.
  if (!has_steps) GOODPUT_TRY_STATUS(remove_old_rest(*connection_, keep_after_s));
  // Whole minutes only: one that is still being filled would be thinned out twice.
  const std::int64_t full_from = minute_of(now_s - seconds_of(options_.maps_in_full));
  GOODPUT_TRY(const bool has_details, thin_out_details(*connection_, full_from));
  GOODPUT_TRY_STATUS(transaction.commit());
  GOODPUT_TRY(const bool has_pages, give_pages_back(*connection_));
  return has_steps || has_details || has_pages;
}

}  // namespace goodput
