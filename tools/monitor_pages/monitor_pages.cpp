#include "tools/monitor_pages/monitor_pages.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "tools/monitor_pages/compressed_response.h"
#include "tools/monitor_pages/monitor_api.h"
#include "tools/monitor_pages/monitor_metrics.h"
#include "tools/monitor_pages/page_assets.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"

namespace goodput {
namespace {

using Kind = PageRoute::Kind;

double system_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

HttpResponse text_line(int status, std::string_view line) {
  HttpResponse response;
  response.status = status;
  response.content_type = "text/plain; charset=utf-8";
  response.body = std::string(line) + "\n";
  return response;
}

HttpResponse asset_response(const PageRoute& route) {
  const PageAsset* asset = find_asset(route.asset);
  if (asset == nullptr) return error_page(404, "There is no such file.");
  HttpResponse response;
  response.content_type = asset->content_type;
  response.body = asset->body;
  response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  return response;
}

HttpResponse refusal(const PageRoute& route, int status, std::string_view what) {
  return route.is_api ? plain_error(status, what) : error_page(status, what);
}

Result<HttpResponse> metrics_response(PageContext& context) {
  GOODPUT_TRY(const std::vector<ShownJob> jobs, view_jobs(context));
  const Result<std::uint64_t> bytes = context.store.file_bytes();
  HttpResponse response;
  response.content_type = kMetricsContentType;
  response.body = metrics_text(context, jobs, bytes ? std::optional(*bytes) : std::nullopt);
  return response;
}

// Only what exists can be listened to: a topic costs memory.
Result<HttpResponse> events_response(PageContext& context, const HttpRequest& request) {
  constexpr std::string_view kJob = "job/";
  std::string_view topic = request.parameter("topic");
  if (topic.empty()) topic = "all";
  bool exists = topic == all_jobs_topic();
  if (topic.starts_with(kJob)) {
    const std::string name(topic.substr(kJob.size()));
    GOODPUT_TRY(const std::optional<JobInfo> info, context.store.job(name));
    exists = info.has_value() || context.state.jobs.contains(name);
  }
  if (!exists) return plain_error(404, "want topic=all or topic=job/NAME of a job that there is");
  HttpResponse response;
  response.content_type = "text/event-stream";
  response.topic = topic;
  return response;
}

Result<HttpResponse> page_of(PageContext& context, const PageRoute& route, const HttpRequest& request) {
  switch (route.kind) {
    case Kind::kJobs:
      return jobs_page(context);
    case Kind::kJob:
      return job_page(context, route, request);
    case Kind::kSteps:
      return find_step(context, route, request);
    case Kind::kStep:
      return step_page(context, route);
    case Kind::kWorker:
      return worker_page(context, route);
    case Kind::kAlerts:
      return alerts_page(context);
    case Kind::kAlert:
      return alert_page(context, route);
    case Kind::kMetrics:
      return metrics_response(context);
    case Kind::kEvents:
      return events_response(context, request);
    default:
      return error_page(404, "There is no such page.");
  }
}

}  // namespace

MonitorPages::MonitorPages(const MonitorStatus& status, MonitorPageOptions options)
    : MonitorPages(status, std::move(options), system_time_s) {}

MonitorPages::MonitorPages(const MonitorStatus& status, MonitorPageOptions options, Clock clock)
    : status_(status),
      options_(std::move(options)),
      clock_(std::move(clock)),
      readers_(options_.store_path) {}

HttpResponse MonitorPages::respond(const HttpRequest& request) {
  const PageRoute route = route_of(request.path);
  if (request.method != "GET") return refusal(route, 405, "Only GET is answered here.");
  const MonitorState state = status_.state();
  switch (route.kind) {
    case Kind::kHealth:
      return health(state);
    case Kind::kReady:
      return readiness(state);
    case Kind::kAsset:
      return compressed(asset_response(route), request);
    case Kind::kNone:
      return refusal(route, 404, "There is no such page.");
    default:
      break;
  }
  Result<HttpResponse> response = respond_from_store(route, request, state);
  if (!response) return refusal(route, 500, response.error().message());
  return compressed(*std::move(response), request);
}

Result<HttpResponse> MonitorPages::respond_from_store(const PageRoute& route, const HttpRequest& request,
                                                      const MonitorState& state) {
  GOODPUT_TRY(const ReaderPool::Lease lease, readers_.take());
  PageContext context{lease.store(), state, options_, cache_, clock_()};
  if (route.is_api) return api_response(context, route, request);
  if (route.kind == Kind::kTimeline || route.kind == Kind::kRows) return respond_with_file(context, route);
  return page_of(context, route, request);
}

Result<HttpResponse> MonitorPages::respond_with_file(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::vector<StepTotals> found,
              context.store.steps(route.job, {.from = route.step, .to = route.step, .most = 1}));
  if (found.empty()) return error_page(404, "There is no such step, or it is not kept any more.");
  if (found.front().ops > options_.most_timeline_ops) {
    return error_page(
        413, fmt::format("The step has {} ops, too many for a browser. Write its rows with goodput "
                         "monitor export --trace and make a timeline with goodput whatif --timeline.",
                         found.front().ops));
  }
  const std::unique_lock<std::mutex> turn = files_.enter();
  if (!turn.owns_lock()) {
    HttpResponse busy = error_page(503, "Another such file is being made. Try again in a few seconds.");
    busy.headers.emplace_back("Retry-After", "5");
    return busy;
  }
  GOODPUT_TRY(std::optional<OpTrace> rows, context.store.rows(route.job, route.step));
  if (!rows) return error_page(404, "The rows of this step are not kept any more.");
  const bool is_timeline = route.kind == Kind::kTimeline;
  GOODPUT_TRY(std::string bytes, is_timeline ? timeline_file(*std::move(rows)) : rows_file(*rows));
  HttpResponse response;
  response.content_type = "application/gzip";
  response.body = std::move(bytes);
  response.headers.emplace_back(
      "Content-Disposition", fmt::format("attachment; filename=\"step-{}-{}.{}\"", route.step.run,
                                         route.step.step, is_timeline ? "timeline.json.gz" : "rows.csv.gz"));
  return response;
}

HttpResponse MonitorPages::health(const MonitorState& state) const {
  const double quiet_s = clock_() - std::max(state.beat_s, state.started_s);
  if (quiet_s <= options_.stalled_after_s) return text_line(200, "ok");
  return text_line(503, fmt::format("the loop of the monitor has not gone round for {:.0f} s", quiet_s));
}

HttpResponse MonitorPages::readiness(const MonitorState& state) {
  if (!state.problem.empty()) return text_line(503, state.problem);
  if (!state.is_ready) return text_line(503, "the folders were not read yet");
  const Result<ReaderPool::Lease> lease = readers_.take();
  if (!lease) return text_line(503, lease.error().message());
  return text_line(200, "ready");
}

}  // namespace goodput
