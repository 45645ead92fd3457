#include "tools/monitor_export/monitor_export.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"
#include "sim/live/incident_json.h"
#include "sim/ops/op_trace.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/monitor_export/export_steps.h"
#include "tools/monitor_export/export_tables.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/trace/write_trace.h"
#include "traces/io/formats.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

// ---- Steps, maps and incidents as JSON.

constexpr std::size_t kMostFigures = 20'000'000;  // of workers: 16 bytes each, and as much again as text

// Text that is no UTF-8, as names of hosts in a log may be, is mended where it is written.
OrderedJson finite(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson finite(const std::vector<double>& values) {
  OrderedJson list = OrderedJson::array();
  for (const double value : values) list.push_back(finite(value));
  return list;
}

OrderedJson known_time(double time_s) {
  return time_s > 0 ? finite(time_s) : OrderedJson(nullptr);
}

OrderedJson text_or_null(const std::string& text) {
  return text.empty() ? OrderedJson(nullptr) : OrderedJson(text);
}

OrderedJson place_json(const WorkerPlace& place) {
  return {{"dp_rank", place.dp_rank},
          {"stage", place.stage},
          {"rank", place.rank >= 0 ? OrderedJson(place.rank) : OrderedJson(nullptr)},
          {"host", text_or_null(place.host)}};
}

OrderedJson cause_json(const StepCause& cause) {
  OrderedJson json{{"name", cause.name},
                   {"likely", cause.is_likely},
                   {"gain", cause.gain ? finite(*cause.gain) : OrderedJson()}};
  json["workers"] = cause.workers;
  json["stage"] = cause.stage ? OrderedJson(*cause.stage) : OrderedJson(nullptr);
  json["fix"] = cause.fix;
  json["evidence"] = cause.evidence;
  json["next_check"] = cause.next_check;
  return json;
}

OrderedJson layout_json(const JobLayout& layout) {
  return {{"dp_size", layout.dp_size},   {"pp_size", layout.pp_size},
          {"vpp_size", layout.vpp_size}, {"gpus_per_worker", layout.gpus_per_worker},
          {"ranks", layout.ranks},       {"hosts", layout.hosts}};
}

void add_totals(OrderedJson& json, const StepTotals& totals) {
  json["run"] = totals.id.run;
  json["step"] = totals.id.step;
  json["status"] = kStepStatuses[static_cast<std::size_t>(totals.status)];
  json["began_s"] = known_time(totals.began_s);
  json["received_s"] = known_time(totals.received_s);
  json["finished_s"] = known_time(totals.finished_s);
  json["ops"] = totals.ops;
}

// Of an analysed step.
void add_figures(OrderedJson& json, const StepTotals& totals) {
  json["recorded_s"] = finite(totals.recorded_s);
  json["replayed_s"] = finite(totals.replayed_s);
  json["ideal_s"] = finite(totals.ideal_s);
  json["slowdown"] = finite(totals.slowdown);
  json["waste"] = finite(totals.waste());
  json["lost_s"] = finite(totals.lost_s());
  json["launch_slowdown"] = finite(totals.launch_slowdown);
  json["discrepancy"] = finite(totals.discrepancy);
  json["worst_worker"] = totals.worst_worker;
  json["worst_slowdown"] = finite(totals.worst_slowdown);
  json["shape"] = kSlowdownShapes[static_cast<std::size_t>(totals.shape)];
  json["cause"] = text_or_null(totals.cause);
  json["gain"] = totals.cause.empty() ? OrderedJson(nullptr) : finite(totals.gain);
}

// What is kept for some of the steps only.
void add_details(OrderedJson& json, const StepResult& result) {
  if (!result.worker_slowdown.empty()) {
    json["slowdown_by_worker"] = finite(result.worker_slowdown);
    json["exact"] = !result.worker_pace.empty();
  }
  if (!result.worker_pace.empty()) json["pace_by_worker"] = finite(result.worker_pace);
  if (!result.by_stage.empty()) json["slowdown_by_stage"] = finite(result.by_stage);
  if (!result.by_dp_rank.empty()) json["slowdown_by_dp_rank"] = finite(result.by_dp_rank);
  if (!result.by_optype.empty()) {
    OrderedJson by_optype = OrderedJson::object();
    for (const LabelledSlowdown& entry : result.by_optype) by_optype[entry.label] = finite(entry.slowdown);
    json["slowdown_by_optype"] = std::move(by_optype);
    json["m_w"] = result.m_w ? finite(*result.m_w) : OrderedJson(nullptr);
    json["m_s"] = result.m_s ? finite(*result.m_s) : OrderedJson(nullptr);
    json["correlation"] = result.correlation ? finite(*result.correlation) : OrderedJson(nullptr);
  }
  if (result.totals.status == StepStatus::kAnalysed) json["verdict"] = verdict_json(result.verdict);
  if (!result.causes.empty()) {
    json["causes"] = OrderedJson::array();
    for (const StepCause& cause : result.causes) json["causes"].push_back(cause_json(cause));
  }
  if (!result.problem.empty()) json["problem"] = result.problem;
  if (!result.missing.empty()) {
    json["missing"] = OrderedJson::array();
    for (const WorkerPlace& place : result.missing) json["missing"].push_back(place_json(place));
  }
  if (!result.notes.empty()) json["notes"] = result.notes;
}

// The distinct layouts of a job's steps, in the order in which they come up.
class LayoutList {
 public:
  std::size_t index_of(const JobLayout& layout) {
    const auto found = std::find(layouts_.rbegin(), layouts_.rend(), layout);
    if (found != layouts_.rend()) return static_cast<std::size_t>(layouts_.rend() - found) - 1;
    layouts_.push_back(layout);
    return layouts_.size() - 1;
  }
  [[nodiscard]] OrderedJson json() const {
    OrderedJson list = OrderedJson::array();
    for (const JobLayout& layout : layouts_) list.push_back(layout_json(layout));
    return list;
  }

 private:
  std::vector<JobLayout> layouts_;
};

// Those that were open in the time of the exported steps.
Result<OrderedJson> incidents_json(MonitorStore& store, const ExportedJob& job) {
  const double now_s =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  OrderedJson list = OrderedJson::array();
  GOODPUT_TRY(std::vector<Incident> incidents,
              store.incidents(job.info.name, false, std::numeric_limits<std::size_t>::max()));
  std::reverse(incidents.begin(), incidents.end());
  for (const Incident& incident : incidents) {
    if (job.steps.empty() || incident.opened_at > job.steps.back().id) continue;
    if (incident.closed_at && *incident.closed_at < job.steps.front().id) continue;
    list.push_back(incident_json(incident, now_s));
  }
  return list;
}

Result<OrderedJson> job_json(MonitorStore& store, const ExportedJob& job, std::size_t& figures) {
  OrderedJson json{{"name", job.info.name},         {"runs", job.info.runs},
                   {"analysed", job.info.analysed}, {"incomplete", job.info.incomplete},
                   {"refused", job.info.refused},   {"skipped", job.info.skipped}};
  LayoutList layouts;
  OrderedJson steps = OrderedJson::array();
  for (const StepTotals& totals : job.steps) {
    GOODPUT_TRY(const std::optional<StepResult> result, store.step(job.info.name, totals.id));
    if (!result) continue;  // let go of meanwhile
    figures += result->worker_slowdown.size() + result->worker_pace.size();
    if (figures > kMostFigures)
      return Error{
          fmt::format("the result has more than {} per-worker values, which is too many for JSON; select "
                      "fewer steps, or write a table with --workers",
                      kMostFigures)};
    OrderedJson step = OrderedJson::object();
    add_totals(step, totals);
    step["layout"] = layouts.index_of(result->layout);
    if (totals.status == StepStatus::kAnalysed) add_figures(step, totals);
    add_details(step, *result);
    steps.push_back(std::move(step));
  }
  json["layouts"] = layouts.json();
  json["steps"] = std::move(steps);
  GOODPUT_TRY(json["incidents"], incidents_json(store, job));
  return json;
}

// A list with an entry a job. Fails where it would hold more figures of workers than fit into memory.
Result<OrderedJson> exported_json(MonitorStore& store, std::span<const ExportedJob> jobs) {
  OrderedJson list = OrderedJson::array();
  std::size_t figures = 0;
  for (const ExportedJob& job : jobs) {
    GOODPUT_TRY(OrderedJson json, job_json(store, job, figures));
    list.push_back(std::move(json));
  }
  return list;
}

// ---- The command.

std::string describe(const ExportedJob& job) {
  if (job.steps.empty()) return fmt::format("{}: no steps\n", job.info.name);
  const StepId first = job.steps.front().id;
  const StepId last = job.steps.back().id;
  return fmt::format("{}: {} step{}, from step {} of run {} to step {} of run {}\n", job.info.name,
                     job.steps.size(), job.steps.size() == 1 ? "" : "s", first.step, first.run, last.step,
                     last.run);
}

Status write_tables(MonitorStore& store, const std::vector<ExportedJob>& jobs,
                    const MonitorExportOptions& options, const CommandContext& context) {
  if (!options.table.empty()) {
    GOODPUT_TRY(const std::size_t rows, write_step_table(jobs, options.table));
    context.print(fmt::format("{}: one row per step, {} in total\n", options.table, rows));
  }
  if (!options.workers.empty()) {
    GOODPUT_TRY(const std::size_t rows, write_worker_table(store, jobs, options.workers));
    context.print(fmt::format("{}: one row per worker and step with a stored worker map, {} in total\n",
                              options.workers, rows));
  }
  return Ok{};
}

// Before anything is read.
Status check_outputs(const MonitorExportOptions& options, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_table_path(options.table, "table"));
  GOODPUT_TRY_STATUS(check_table_path(options.workers, "workers"));
  return check_file_roles(
      {options.database},
      {{"--table", options.table}, {"--workers", options.workers}, {"--trace", options.trace}}, context);
}

}  // namespace

void add_export_options(Options& options, MonitorExportOptions& bound) {
  options.add("db", bound.database, "DB", "Database of a monitor, running or not").input().required();
  options.add("--job", bound.job, "NAME", "Export only this job (default: all jobs)");
  options.add("--steps", bound.steps, "LIST", "Export only these steps, for example 12,20-23");
  options.add("--run", bound.run, "N", "Export only this run of the job, counted from 0 (default: all runs)");
  options.add("--from", bound.from, "TIME",
              "Export only steps from this time on: seconds since 1970, or UTC such as 2026-11-24T13:30:00Z");
  options.add("--to", bound.to, "TIME", "Export only steps up to this time");
  options.add("--table", bound.table, "FILE", "Write a table with one row per step, as .csv or .parquet")
      .output();
  options
      .add("--workers", bound.workers, "FILE",
           "Write a table with one row per step and worker, as .csv or .parquet, for steps with a stored "
           "worker map")
      .output();
  options.add("--trace", bound.trace, "FILE", "Write the stored ops as a trace for 'goodput whatif'")
      .output();
}

Result<ExitCode> run_export(const MonitorExportOptions& options, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_outputs(options, context));
  std::optional<OpTraceFormat> format;
  if (!options.trace.empty()) {
    GOODPUT_TRY(format, format_of_extension(op_trace_formats(), options.trace));
  }
  GOODPUT_TRY(MonitorStore store, MonitorStore::open_for_reading(options.database));
  GOODPUT_TRY(const std::vector<ExportedJob> jobs, exported_jobs(store, options));
  for (const ExportedJob& job : jobs) context.print(describe(job));
  GOODPUT_TRY_STATUS(write_tables(store, jobs, options, context));
  if (format) {
    GOODPUT_TRY(const OpTrace rows, exported_rows(store, jobs, options.database));
    GOODPUT_TRY_STATUS(write_trace(rows, *format, options.trace));
    context.print(fmt::format("{}: {} ops as {}\n", options.trace, rows.size(), format->name));
  }
  if (!context.options.wants_result()) return ExitCode::kOk;
  OrderedJson result = begin_json_result("monitor_export", context,
                                         {.config_hash = {}, .calibration = {}, .lowest_tier = "measured"});
  GOODPUT_TRY(result["jobs"], exported_json(store, jobs));
  GOODPUT_TRY_STATUS(write_json_result(result, context));
  return ExitCode::kOk;
}

}  // namespace goodput
