#include "tools/monitor_pages/monitor_api.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/analysis/verdict_json.h"
#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/live/incident_json.h"
#include "tools/cli/json_result.h"
#include "tools/monitor_pages/worker_map.h"

namespace goodput {
namespace {

// ---- What is known of jobs, steps and incidents as JSON (docs/formats/monitor-api.md).

// JSON has no word for what is no number.
OrderedJson number(double value) {
  return std::isfinite(value) ? OrderedJson(value) : OrderedJson(nullptr);
}

OrderedJson number_or_null(const std::optional<double>& value) {
  return value ? number(*value) : OrderedJson(nullptr);
}

// A moment: 0 means that nobody knows.
OrderedJson moment(double unix_s) {
  return unix_s > 0 ? number(unix_s) : OrderedJson(nullptr);
}

OrderedJson step_id(StepId id) {
  return {{"run", id.run}, {"step", id.step}};
}

std::string worker_key(std::int32_t dp_rank, std::int32_t stage) {
  return fmt::format("{}:{}", dp_rank, stage);
}

// {"dp:stage": number}
OrderedJson by_worker(std::span<const double> values, std::int32_t pp_size) {
  OrderedJson object = OrderedJson::object();
  const auto stages = static_cast<std::size_t>(pp_size);
  for (std::size_t worker = 0; worker < values.size(); ++worker) {
    append_member(
        object,
        worker_key(static_cast<std::int32_t>(worker / stages), static_cast<std::int32_t>(worker % stages)),
        number(values[worker]));
  }
  return object;
}

// {"0": number}
OrderedJson by_index(std::span<const double> values) {
  OrderedJson object = OrderedJson::object();
  for (std::size_t i = 0; i < values.size(); ++i)
    append_member(object, fmt::format("{}", i), number(values[i]));
  return object;
}

OrderedJson cause_json(const StepCause& cause, std::int32_t pp_size) {
  OrderedJson workers = OrderedJson::array();
  for (const std::size_t worker : cause.workers) {
    const auto stages = static_cast<std::size_t>(pp_size);
    workers.push_back(
        worker_key(static_cast<std::int32_t>(worker / stages), static_cast<std::int32_t>(worker % stages)));
  }
  return {{"cause", cause.name},
          {"likely", cause.is_likely},
          {"gain", number_or_null(cause.gain)},
          {"workers", workers},
          {"stage", cause.stage ? OrderedJson(*cause.stage) : OrderedJson(nullptr)},
          {"fix", cause.fix},
          {"evidence", cause.evidence},
          {"next_check", cause.next_check}};
}

OrderedJson layout_json(const JobLayout& layout) {
  return {{"dp_size", layout.dp_size}, {"pp_size", layout.pp_size}, {"vpp_size", layout.vpp_size},
          {"gpus", layout.gpus()},     {"ranks", layout.ranks},     {"hosts", layout.hosts}};
}

OrderedJson status_json(const JobStatus& status) {
  return {{"lag_s", number_or_null(status.lag_s)}, {"last_row_s", moment(status.last_row_s)},
          {"unread_bytes", status.unread_bytes},   {"bad_lines", status.bad_lines},
          {"last_bad_line", status.last_bad_line}, {"late_rows", status.late_rows},
          {"open_steps", status.open_steps},       {"behind", status.is_behind}};
}

void append_analysis(const StepResult& step, OrderedJson& json) {
  const std::int32_t stages = step.layout.pp_size;
  json["slowdown_by_worker"] = by_worker(step.worker_slowdown, stages);
  json["pace_by_worker"] = by_worker(step.worker_pace, stages);
  json["slowdown_by_stage"] = by_index(step.by_stage);
  json["slowdown_by_dp_rank"] = by_index(step.by_dp_rank);
  OrderedJson by_optype = OrderedJson::object();
  for (const LabelledSlowdown& entry : step.by_optype)
    append_member(by_optype, entry.label, number(entry.slowdown));
  json["slowdown_by_optype"] = std::move(by_optype);
  json["m_w"] = number_or_null(step.m_w);
  json["m_s"] = number_or_null(step.m_s);
  json["forward_backward_correlation"] = number_or_null(step.correlation);
  json["verdict"] = verdict_json(step.verdict);
  json["causes"] = OrderedJson::array();
  for (const StepCause& cause : step.causes) json["causes"].push_back(cause_json(cause, stages));
}

OrderedJson json_of(const WorkerPlace& worker) {
  return {{"dp_rank", worker.dp_rank},
          {"stage", worker.stage},
          {"rank", worker.rank >= 0 ? OrderedJson(worker.rank) : OrderedJson(nullptr)},
          {"host", worker.host.empty() ? OrderedJson(nullptr) : OrderedJson(worker.host)}};
}

OrderedJson json_of(const StepTotals& step) {
  OrderedJson json = step_id(step.id);
  json["status"] = kStepStatuses[static_cast<std::size_t>(step.status)];
  json["began_s"] = moment(step.began_s);
  json["received_s"] = moment(step.received_s);
  json["finished_s"] = moment(step.finished_s);
  json["ops"] = step.ops;
  if (step.status != StepStatus::kAnalysed) return json;
  json["slowdown"] = number(step.slowdown);
  json["waste"] = number(step.waste());
  json["recorded_s"] = number(step.recorded_s);
  json["replayed_s"] = number(step.replayed_s);
  json["ideal_s"] = number(step.ideal_s);
  json["launch_slowdown"] = number(step.launch_slowdown);
  json["discrepancy"] = number(step.discrepancy);
  json["worst_slowdown"] = number(step.worst_slowdown);
  json["worst_worker"] = step.worst_worker;
  json["shape"] = kSlowdownShapes[static_cast<std::size_t>(step.shape)];
  json["cause"] = step.cause.empty() ? OrderedJson(nullptr) : OrderedJson(step.cause);
  json["gain"] = step.cause.empty() ? OrderedJson(nullptr) : number(step.gain);
  return json;
}

OrderedJson json_of(const StepResult& step) {
  OrderedJson json = json_of(step.totals);
  json["layout"] = layout_json(step.layout);
  if (step.totals.status == StepStatus::kAnalysed) append_analysis(step, json);
  json["problem"] = step.problem.empty() ? OrderedJson(nullptr) : OrderedJson(step.problem);
  json["missing"] = OrderedJson::array();
  for (const WorkerPlace& worker : step.missing) json["missing"].push_back(json_of(worker));
  json["notes"] = step.notes;
  return json;
}

OrderedJson json_of(const WorkerMap& map) {
  OrderedJson json = step_id(map.id);
  json["dp_size"] = map.dp_size;
  json["pp_size"] = map.pp_size;
  json["slowdown_by_worker"] = by_worker(map.slowdown, map.pp_size);
  return json;
}

OrderedJson json_of(const WorkerPoint& point) {
  OrderedJson json = step_id(point.id);
  json["began_s"] = moment(point.began_s);
  json["slowdown"] = number(point.slowdown);
  return json;
}

OrderedJson json_of(const ShownJob& job) {
  const JobInfo& info = job.info;
  OrderedJson json = {
      {"name", info.name},
      {"state", kJobConditions[static_cast<std::size_t>(job.condition)]},
      {"runs", info.runs},
      {"steps",
       {{"analysed", info.analysed},
        {"incomplete", info.incomplete},
        {"refused", info.refused},
        {"skipped", info.skipped}}},
      {"open_incidents", info.open_incidents},
      {"latest", info.latest ? json_of(*info.latest) : OrderedJson(nullptr)},
      {"latest_analysed", info.latest_analysed ? json_of(*info.latest_analysed) : OrderedJson(nullptr)}};
  OrderedJson window = {{"steps", job.window.size()}};
  if (!job.window.empty()) {
    window["slowdown"] = number(job.slowdown);
    window["waste"] = number(job.waste);
    window["lost_s_per_step"] = number(job.lost_s);
    window["lost_gpu_hours_per_day"] = number(job.gpu_hours_per_day);
    window["lost_usd_per_day"] = number_or_null(job.usd_per_day);
  }
  json["window"] = std::move(window);
  json["gpus"] = job.latest() == nullptr ? OrderedJson(nullptr) : OrderedJson(job.latest()->gpus);
  json["worst_worker"] = job.latest() == nullptr ? OrderedJson(nullptr) : json_of(job.latest()->worst);
  json["intake"] = job.status ? status_json(*job.status) : OrderedJson(nullptr);
  return json;
}

OrderedJson causes_json(const ShownJob& job) {
  OrderedJson causes = OrderedJson::array();
  for (const WindowCause& cause : causes_of(job)) {
    OrderedJson about = OrderedJson::array();
    for (const WorkerPlace& worker : cause.suspects) about.push_back(json_of(worker));
    causes.push_back({{"cause", cause.name},
                      {"likely_in", cause.likely_in},
                      {"of", cause.of},
                      {"gain", number_or_null(cause.gain)},
                      {"workers", about},
                      {"stage", cause.latest.stage ? OrderedJson(*cause.latest.stage) : OrderedJson(nullptr)},
                      {"fix", cause.latest.fix},
                      {"evidence", cause.latest.evidence},
                      {"next_check", cause.latest.next_check},
                      {"latest", step_id(cause.latest_step)}});
  }
  return causes;
}

OrderedJson json_of(const PageContext& context, const Incident& incident) {
  OrderedJson json = incident_json(incident, context.now_s);
  json["page"] = incident_link(incident.key);  // a path here, whatever address messages have
  return json;
}

OrderedJson json_of(const PageContext& context, std::span<const Incident> incidents) {
  OrderedJson list = OrderedJson::array();
  for (const Incident& incident : incidents) list.push_back(json_of(context, incident));
  return list;
}

// ---- Answers.

using Kind = PageRoute::Kind;

constexpr std::int64_t kMostEntries = 10'000;  // of one answer

OrderedJson begin_document(const PageContext& context, std::string_view kind) {
  return {{"schema", "goodput.monitor/2"},
          {"version", program_version()},
          {"kind", kind},
          {"now_s", context.now_s}};
}

HttpResponse json_response(const OrderedJson& document) {
  HttpResponse response;
  response.content_type = "application/json";
  // Names are of anybody: what is no UTF-8 is replaced.
  response.body = document.dump() + "\n";
  return response;
}

// An integer parameter within bounds; absent: `otherwise`.
Result<std::int64_t> integer_parameter(const HttpRequest& request, std::string_view name,
                                       std::int64_t otherwise, std::int64_t least, std::int64_t most) {
  const std::string_view text = request.parameter(name);
  if (text.empty()) return otherwise;
  const std::optional<std::int64_t> value = parse_integer(text);
  if (!value || *value < least || *value > most)
    return Error{fmt::format("the parameter {} must be an integer from {} to {}", name, least, most)};
  return *value;
}

// limit=, formerly most=: the maximum number of entries.
Result<std::int64_t> limit_parameter(const HttpRequest& request) {
  const std::string_view name = request.parameter("most").empty() ? "limit" : "most";
  return integer_parameter(request, name, 1000, 1, kMostEntries);
}

// from=, to=: steps of run=; without run= of the latest run.
Result<StepQuery> step_query(const HttpRequest& request, std::int32_t latest_run) {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  StepQuery query;
  GOODPUT_TRY(const std::int64_t limit, limit_parameter(request));
  query.most = static_cast<std::size_t>(limit);
  query.newest_first = request.parameter("newest") == "1";
  GOODPUT_TRY(const std::int64_t run,
              integer_parameter(request, "run", latest_run, 0, std::numeric_limits<std::int32_t>::max()));
  GOODPUT_TRY(const std::int64_t from, integer_parameter(request, "from", kFirst, kFirst, kLast));
  GOODPUT_TRY(const std::int64_t to, integer_parameter(request, "to", kLast, kFirst, kLast));
  const bool is_bounded = !request.parameter("run").empty() || from != kFirst || to != kLast;
  if (!is_bounded) return query;
  query.from = StepId{static_cast<std::int32_t>(run), from};
  query.to = StepId{static_cast<std::int32_t>(run), to};
  return query;
}

HttpResponse no_job() {
  return plain_error(404, "there is no job with this name; /api/v1/jobs lists all jobs");
}

Result<HttpResponse> jobs_json(PageContext& context) {
  GOODPUT_TRY(const std::vector<ShownJob> jobs, view_jobs(context));
  OrderedJson document = begin_document(context, "jobs");
  document["ready"] = context.state.is_ready && context.state.problem.empty();
  document["problem"] =
      context.state.problem.empty() ? OrderedJson(nullptr) : OrderedJson(context.state.problem);
  document["undelivered"] = context.state.undelivered;
  document["jobs"] = OrderedJson::array();
  for (const ShownJob& job : jobs) document["jobs"].push_back(json_of(job));
  return json_response(document);
}

Result<HttpResponse> job_json(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<ShownJob> job, view_job(context, route.job));
  if (!job) return no_job();
  GOODPUT_TRY(const std::vector<Incident> open, context.store.incidents(route.job, true, 100));
  OrderedJson document = begin_document(context, "job");
  document["job"] = json_of(*job);
  document["causes"] = causes_json(*job);
  document["incidents"] = json_of(context, open);
  return json_response(document);
}

Result<HttpResponse> steps_json(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  GOODPUT_TRY(const std::optional<JobInfo> info, context.store.job(route.job));
  if (!info) return no_job();
  const Result<StepQuery> query = step_query(request, info->latest ? info->latest->id.run : 0);
  if (!query) return plain_error(400, query.error().message());
  GOODPUT_TRY(const std::vector<StepTotals> steps, context.store.steps(route.job, *query));
  OrderedJson document = begin_document(context, "steps");
  document["job"] = route.job;
  document["steps"] = OrderedJson::array();
  for (const StepTotals& step : steps) document["steps"].push_back(json_of(step));
  return json_response(document);
}

Result<HttpResponse> step_json(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<StepResult> step, context.store.step(route.job, route.step));
  if (!step) return plain_error(404, "there is no such step, or it is no longer stored");
  OrderedJson document = begin_document(context, "step");
  document["job"] = route.job;
  document["step"] = json_of(*step);
  return json_response(document);
}

Result<HttpResponse> map_json(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<WorkerMap> map, context.store.map(route.job, route.step));
  if (!map) return plain_error(404, "no worker map is stored for this step or an earlier one");
  OrderedJson document = begin_document(context, "map");
  document["job"] = route.job;
  document["map"] = json_of(*map);
  return json_response(document);
}

Result<HttpResponse> worker_json(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  GOODPUT_TRY(const std::optional<JobInfo> info, context.store.job(route.job));
  if (!info || !info->latest_analysed) return no_job();
  GOODPUT_TRY(const std::optional<StepResult> step, context.store.step(route.job, info->latest_analysed->id));
  if (!step || route.dp_rank >= step->layout.dp_size || route.stage >= step->layout.pp_size)
    return plain_error(404, "the job has no such worker");
  const Result<StepQuery> query = step_query(request, info->latest_analysed->id.run);
  if (!query) return plain_error(400, query.error().message());
  const std::size_t worker =
      static_cast<std::size_t>(route.dp_rank) * static_cast<std::size_t>(step->layout.pp_size) +
      static_cast<std::size_t>(route.stage);
  GOODPUT_TRY(const std::vector<WorkerPoint> history,
              read_history(context, route.job, step->layout, worker, *query));
  OrderedJson document = begin_document(context, "worker");
  document["job"] = route.job;
  document["worker"] = json_of(place_of(step->layout, worker));
  document["history"] = OrderedJson::array();
  for (const WorkerPoint& point : history) document["history"].push_back(json_of(point));
  return json_response(document);
}

Result<HttpResponse> incidents_json(PageContext& context, const HttpRequest& request) {
  const Result<std::int64_t> limit = limit_parameter(request);
  if (!limit) return plain_error(400, limit.error().message());
  const bool only_open = request.parameter("open") == "1";
  GOODPUT_TRY(const std::vector<Incident> incidents,
              context.store.incidents(request.parameter("job"), only_open, static_cast<std::size_t>(*limit)));
  OrderedJson document = begin_document(context, "incidents");
  document["incidents"] = json_of(context, incidents);
  return json_response(document);
}

Result<HttpResponse> incident_json_of(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<Incident> incident, context.store.incident(route.incident));
  if (!incident) return plain_error(404, "there is no such incident, or it is no longer stored");
  return incident_response(context, *incident);
}

HttpResponse index_json(const PageContext& context) {
  OrderedJson document = begin_document(context, "index");
  document["paths"] = {"/api/v1/jobs",
                       "/api/v1/jobs/NAME",
                       "/api/v1/jobs/NAME/steps?run=&from=&to=&limit=&newest=1",
                       "/api/v1/jobs/NAME/steps/RUN/STEP",
                       "/api/v1/jobs/NAME/steps/RUN/STEP/map",
                       "/api/v1/jobs/NAME/workers/DP/STAGE?run=&from=&to=&limit=",
                       "/api/v1/incidents?job=&open=1&limit=",
                       "/api/v1/incidents/KEY",
                       "/api/v1/incidents/KEY/acknowledge",
                       "/api/v1/incidents/KEY/mute",
                       "/api/v1/incidents/KEY/end"};
  return json_response(document);
}

}  // namespace

HttpResponse incident_response(const PageContext& context, const Incident& incident) {
  OrderedJson document = begin_document(context, "incident");
  document["incident"] = json_of(context, incident);
  return json_response(document);
}

Result<HttpResponse> api_response(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  switch (route.kind) {
    case Kind::kIndex:
      return index_json(context);
    case Kind::kJobs:
      return jobs_json(context);
    case Kind::kJob:
      return job_json(context, route);
    case Kind::kSteps:
      return steps_json(context, route, request);
    case Kind::kStep:
      return step_json(context, route);
    case Kind::kMap:
      return map_json(context, route);
    case Kind::kWorker:
      return worker_json(context, route, request);
    case Kind::kIncidents:
      return incidents_json(context, request);
    case Kind::kIncident:
      return incident_json_of(context, route);
    default:
      return plain_error(404, "there is no such path; /api/v1 lists all paths");
  }
}

}  // namespace goodput
