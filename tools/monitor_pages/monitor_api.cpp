#include "tools/monitor_pages/monitor_api.h"

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "tools/cli/json_result.h"
#include "tools/monitor_pages/api_json.h"
#include "tools/monitor_pages/worker_map.h"

namespace goodput {
namespace {

using Kind = PageRoute::Kind;

constexpr std::int64_t kMostEntries = 10'000;  // of one answer

OrderedJson begin_document(const PageContext& context, std::string_view kind) {
  return {{"schema", "goodput.monitor/1"},
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
    return Error{fmt::format("{}: want an integer from {} to {}", name, least, most)};
  return *value;
}

// from=, to=: steps of run=; without run= of the latest run.
Result<StepQuery> step_query(const HttpRequest& request, std::int32_t latest_run) {
  constexpr std::int64_t kFirst = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kLast = std::numeric_limits<std::int64_t>::max();
  StepQuery query;
  GOODPUT_TRY(const std::int64_t most, integer_parameter(request, "most", 1000, 1, kMostEntries));
  query.most = static_cast<std::size_t>(most);
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
  return plain_error(404, "there is no job of this name; /api/v1/jobs lists all");
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
  GOODPUT_TRY(const std::vector<Alert> open, context.store.alerts(route.job, true, 100));
  OrderedJson document = begin_document(context, "job");
  document["job"] = json_of(*job);
  document["causes"] = causes_json(*job);
  document["alerts"] = OrderedJson::array();
  for (const Alert& alert : open) document["alerts"].push_back(json_of(alert));
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
  if (!step) return plain_error(404, "there is no such step, or it is not kept any more");
  OrderedJson document = begin_document(context, "step");
  document["job"] = route.job;
  document["step"] = json_of(*step);
  return json_response(document);
}

Result<HttpResponse> map_json(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<WorkerMap> map, context.store.map(route.job, route.step));
  if (!map) return plain_error(404, "there is no map of this step, nor of one before it");
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

Result<HttpResponse> alerts_json(PageContext& context, const HttpRequest& request) {
  const Result<std::int64_t> most = integer_parameter(request, "most", 1000, 1, kMostEntries);
  if (!most) return plain_error(400, most.error().message());
  const std::string_view open = request.parameter("open");
  GOODPUT_TRY(const std::vector<Alert> alerts,
              context.store.alerts(request.parameter("job"), open == "1", static_cast<std::size_t>(*most)));
  OrderedJson document = begin_document(context, "alerts");
  document["alerts"] = OrderedJson::array();
  for (const Alert& alert : alerts) document["alerts"].push_back(json_of(alert));
  return json_response(document);
}

Result<HttpResponse> alert_json(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::optional<Alert> alert, context.store.alert(route.alert));
  if (!alert) return plain_error(404, "there is no alert of this number");
  OrderedJson document = begin_document(context, "alert");
  document["alert"] = json_of(*alert);
  return json_response(document);
}

HttpResponse index_json(const PageContext& context) {
  OrderedJson document = begin_document(context, "index");
  document["paths"] = {"/api/v1/jobs",
                       "/api/v1/jobs/NAME",
                       "/api/v1/jobs/NAME/steps?run=&from=&to=&most=&newest=1",
                       "/api/v1/jobs/NAME/steps/RUN/STEP",
                       "/api/v1/jobs/NAME/steps/RUN/STEP/map",
                       "/api/v1/jobs/NAME/workers/DP/STAGE?run=&from=&to=&most=",
                       "/api/v1/alerts?job=&open=1&most=",
                       "/api/v1/alerts/ID"};
  return json_response(document);
}

}  // namespace

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
    case Kind::kAlerts:
      return alerts_json(context, request);
    case Kind::kAlert:
      return alert_json(context, route);
    default:
      return plain_error(404, "there is no such path; /api/v1 lists all");
  }
}

}  // namespace goodput
