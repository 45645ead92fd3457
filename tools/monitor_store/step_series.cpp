// Many steps at once: totals and maps of a span, as few as can be shown.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <utility>

#include "tools/monitor_store/monitor_store.h"
#include "tools/monitor_store/step_writing.h"
#include "tools/monitor_store/store_columns.h"
#include "tools/monitor_store/store_connection.h"
#include "tools/monitor_store/worker_map_blob.h"

namespace goodput {
namespace {

using Access = StoreConnection::Access;

constexpr StepId kFirstStep{std::numeric_limits<std::int32_t>::min(),
                            std::numeric_limits<std::int64_t>::min()};
constexpr StepId kLastStep{std::numeric_limits<std::int32_t>::max(),
                           std::numeric_limits<std::int64_t>::max()};
// Of a span, in every statement over one: ?1 is the job, ?2 to ?5 are its ends.
constexpr const char* kInSpan = "job = ?1 AND (run, step) >= (?2, ?3) AND (run, step) <= (?4, ?5)";

struct Span {
  std::int64_t job;
  StepId from;
  StepId to;
};

Span span_of(std::int64_t job, const StepQuery& query) {
  return {job, query.from.value_or(kFirstStep), query.to.value_or(kLastStep)};
}

template <typename... More>
void bind_span(StoreStatement& statement, const Span& span, const More&... more) {
  statement.bind(span.job, span.from.run, span.from.step, span.to.run, span.to.step, more...);
}

// Whose status is `status`, if there is one.
Result<std::vector<StepTotals>> all_steps(StoreConnection& connection, const Span& span,
                                          std::string_view order, std::size_t most,
                                          std::optional<StepStatus> status) {
  std::string sql = std::string("SELECT ") + kTotalsColumns + " FROM steps WHERE " + kInSpan;
  if (status) sql.append(" AND status = ?7");
  sql.append(" ORDER BY ").append(order).append(" LIMIT ?6");
  GOODPUT_TRY(StoreStatement query, connection.prepare(sql));
  const std::size_t limit = std::min(most, std::size_t{std::numeric_limits<std::int32_t>::max()});
  if (status) {
    bind_span(query, span, limit, static_cast<int>(*status));
  } else {
    bind_span(query, span, limit);
  }
  std::vector<StepTotals> steps;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return steps;
    steps.push_back(read_totals(query));
  }
}

// The worst step of a block of steps, and how many it has.
struct Peak {
  StepId id;
  double slowdown;
  std::size_t steps;
};

Result<std::vector<Peak>> peaks_in_span(StoreConnection& connection, const Span& span) {
  GOODPUT_TRY(
      StoreStatement query,
      connection.prepare("SELECT run, step, slowdown, steps FROM peaks WHERE job = ?1 AND (run, block) >= "
                         "(?2, ?3) AND (run, block) <= (?4, ?5) ORDER BY run, block"));
  query.bind(span.job, span.from.run, span.from.step >> kBlockBits, span.to.run, span.to.step >> kBlockBits);
  std::vector<Peak> peaks;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return peaks;
    peaks.push_back({{query.integer_as<std::int32_t>(0), query.integer(1)},
                     query.real(2),
                     query.integer_as<std::size_t>(3)});
  }
}

std::size_t steps_of(const std::vector<Peak>& peaks) {
  std::size_t steps = 0;
  for (const Peak& peak : peaks) steps += peak.steps;
  return steps;
}

// The worst step of each of `groups` groups of blocks, of about as many steps each. At the ends of the span a
// block may have its worst step outside: that one is left out.
std::vector<StepId> worst_of_blocks(const std::vector<Peak>& peaks, const Span& span, std::size_t groups) {
  const std::size_t count = steps_of(peaks);
  std::vector<StepId> worst;
  std::size_t before = 0;
  std::size_t group = groups;  // none yet
  double slowdown = 0;
  for (const Peak& peak : peaks) {
    const std::size_t here = before * groups / count;
    before += peak.steps;
    if (peak.id < span.from || peak.id > span.to) continue;
    if (here != group) {
      worst.push_back(peak.id);
      slowdown = peak.slowdown;
    } else if (peak.slowdown > slowdown || std::isnan(slowdown)) {
      worst.back() = peak.id;
      slowdown = peak.slowdown;
    }
    group = here;
  }
  return worst;
}

// The worst step of each of `most` groups; each has as many steps, to one more or less.
std::vector<StepTotals> worst_of_groups(std::vector<StepTotals> all, std::size_t most) {
  if (all.size() <= most) return all;
  std::vector<StepTotals> worst;
  worst.reserve(most);
  for (std::size_t i = 0; i < all.size(); ++i) {
    const bool opens_group = worst.size() * all.size() <= i * most;
    if (opens_group) {
      worst.push_back(std::move(all[i]));
    } else if (all[i].slowdown > worst.back().slowdown || std::isnan(worst.back().slowdown)) {
      worst.back() = std::move(all[i]);
    }
  }
  return worst;
}

Result<std::vector<StepTotals>> totals_of(StoreConnection& connection, std::int64_t job,
                                          const std::vector<StepId>& ids) {
  std::vector<StepTotals> steps;
  steps.reserve(ids.size());
  GOODPUT_TRY(StoreStatement query, connection.prepare(std::string("SELECT ") + kTotalsColumns +
                                                       " FROM steps WHERE job = ? AND run = ? AND step = ?"));
  for (const StepId id : ids) {
    query.bind(job, id.run, id.step);
    GOODPUT_TRY(const bool is_there, query.next());
    if (is_there) steps.push_back(read_totals(query));
  }
  return steps;
}

// ---- Maps.

struct StoredMap {
  std::int64_t row;  // of `details`
  StepId id;
};

Result<std::vector<StoredMap>> maps_in_span(StoreConnection& connection, const Span& span) {
  GOODPUT_TRY(StoreStatement query,
              connection.prepare(std::string("SELECT id, run, step FROM details WHERE has_map = 1 AND ") +
                                 kInSpan + " ORDER BY run, step"));
  bind_span(query, span);
  std::vector<StoredMap> maps;
  for (;;) {
    GOODPUT_TRY(const bool has_row, query.next());
    if (!has_row) return maps;
    maps.push_back({query.integer(0), {query.integer_as<std::int32_t>(1), query.integer(2)}});
  }
}

// Evenly spread, the first and the last among them; or the last ones.
std::vector<StoredMap> thinned_out(std::vector<StoredMap> maps, std::size_t most, bool newest) {
  if (maps.size() <= most) return maps;
  if (newest) {
    maps.erase(maps.begin(), maps.end() - static_cast<std::ptrdiff_t>(most));
    return maps;
  }
  std::vector<StoredMap> chosen;
  for (std::size_t i = 0; i < most; ++i)
    chosen.push_back(maps[most == 1 ? maps.size() - 1 : i * (maps.size() - 1) / (most - 1)]);
  return chosen;
}

}  // namespace

Result<std::vector<StepTotals>> MonitorStore::steps(std::string_view job, const StepQuery& query) {
  GOODPUT_TRY(const StoreTransaction transaction, StoreTransaction::begin(*connection_, Access::kRead));
  GOODPUT_TRY(const std::optional<std::int64_t> number, find_job(*connection_, job));
  if (!number || query.most == 0) return std::vector<StepTotals>();
  const Span span = span_of(*number, query);
  GOODPUT_CHECK(!query.status || query.newest_first, "a query by status must ask for the newest steps first");
  if (query.newest_first)
    return all_steps(*connection_, span, "run DESC, step DESC", query.most, query.status);
  // A scan of all steps of a month takes 0.1 s; blocks say how many there are, and tell many well enough.
  GOODPUT_TRY(const std::vector<Peak> peaks, peaks_in_span(*connection_, span));
  const std::size_t about = steps_of(peaks);
  if ((about >> kBlockBits) > query.most)
    return totals_of(*connection_, *number, worst_of_blocks(peaks, span, query.most));
  GOODPUT_TRY(std::vector<StepTotals> all, all_steps(*connection_, span, "run, step", about, {}));
  return worst_of_groups(std::move(all), query.most);
}

Result<std::optional<WorkerMap>> MonitorStore::map(std::string_view job, StepId id) {
  GOODPUT_TRY(
      StoreStatement query,
      connection_->prepare("SELECT run, step, map FROM details WHERE job = (SELECT id FROM jobs WHERE "
                           "name = ?) AND has_map = 1 AND (run, step) <= (?, ?) ORDER BY run DESC, step "
                           "DESC LIMIT 1"));
  query.bind(job, id.run, id.step);
  GOODPUT_TRY(const bool is_there, query.next());
  if (!is_there) return std::optional<WorkerMap>();
  Result<WorkerMapValues> values = read_map_blob(query.bytes(2));
  if (!values) return std::move(values).error().in_file(connection_->path());
  return std::optional(WorkerMap{.id = {query.integer_as<std::int32_t>(0), query.integer(1)},
                                 .dp_size = values->dp_size,
                                 .pp_size = values->pp_size,
                                 .slowdown = std::move(values->slowdown)});
}

Result<std::vector<WorkerPoint>> MonitorStore::worker_history(std::string_view job, std::size_t worker,
                                                              const StepQuery& query) {
  GOODPUT_TRY(const StoreTransaction transaction, StoreTransaction::begin(*connection_, Access::kRead));
  GOODPUT_TRY(const std::optional<std::int64_t> number, find_job(*connection_, job));
  std::vector<WorkerPoint> history;
  if (!number || query.most == 0) return history;
  GOODPUT_TRY(std::vector<StoredMap> maps, maps_in_span(*connection_, span_of(*number, query)));
  GOODPUT_TRY(
      StoreStatement read,
      connection_->prepare("SELECT map, (SELECT began_s FROM steps WHERE steps.job = details.job AND "
                           "steps.run = details.run AND steps.step = details.step) FROM details WHERE id "
                           "= ?"));
  for (const StoredMap& map : thinned_out(std::move(maps), query.most, query.newest_first)) {
    read.bind(map.row);
    GOODPUT_TRY([[maybe_unused]] const bool is_there, read.next());
    Result<WorkerMapValues> values = read_map_blob(read.bytes(0));
    if (!values) return std::move(values).error().in_file(connection_->path());
    if (worker < values->slowdown.size())
      history.push_back({.id = map.id, .began_s = read.real(1), .slowdown = values->slowdown[worker]});
  }
  return history;
}

}  // namespace goodput
