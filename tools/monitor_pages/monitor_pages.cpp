#include "tools/monitor_pages/monitor_pages.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>
#include <variant>

#include "models/megatron/megatron_rules.h"
#include "sim/base/text.h"
#include "sim/cleaning/trace_cleaning.h"
#include "sim/ops/op_trace.h"
#include "sim/recording/recording.h"
#include "tools/monitor_pages/incident_actions.h"
#include "tools/monitor_pages/monitor_api.h"
#include "tools/monitor_pages/monitor_metrics.h"
#include "tools/monitor_pages/page_assets.h"
#include "tools/monitor_pages/page_content.h"
#include "tools/monitor_pages/page_frame.h"
#include "traces/op/op_trace_format.h"
#include "traces/timeline/step_timeline.h"

namespace goodput {
namespace {

// ---- Files of a step that a browser saves: its timeline for a trace viewer, its rows for `goodput whatif`.

// A file in memory that has a path, for writers that want one.
class MemoryFile {
 public:
  MemoryFile() : descriptor_(memfd_create("goodput", MFD_CLOEXEC)) {}
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;
  ~MemoryFile() {
    if (descriptor_ >= 0) close(descriptor_);
  }

  [[nodiscard]] bool is_open() const { return descriptor_ >= 0; }
  [[nodiscard]] std::string path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

  [[nodiscard]] Result<std::string> content() const {
    const off_t size = lseek(descriptor_, 0, SEEK_END);
    if (size < 0) return cannot("read");
    std::string bytes(static_cast<std::size_t>(size), '\0');
    for (std::size_t at = 0; at < bytes.size();) {
      const ssize_t count = pread(descriptor_, bytes.data() + at, bytes.size() - at, static_cast<off_t>(at));
      if (count <= 0) return cannot("read");
      at += static_cast<std::size_t>(count);
    }
    return bytes;
  }

  [[nodiscard]] static Error cannot(std::string_view what) {
    return {fmt::format("cannot {} a temporary file in memory: {}", what, std::strerror(errno))};
  }

 private:
  int descriptor_;
};

// write(PATH, FINAL_PATH)
template <typename Write>
Result<std::string> bytes_written(std::string_view final_path, Write write) {
  const MemoryFile file;
  if (!file.is_open()) return MemoryFile::cannot("create");
  GOODPUT_TRY_STATUS(write(file.path(), final_path));
  return file.content();
}

// The bytes of timeline.json.gz (traces/timeline/step_timeline.h).
Result<std::string> timeline_file(OpTrace rows) {
  GOODPUT_TRY(CleanTrace clean, clean_trace(std::move(rows), {}, {}));
  GOODPUT_TRY(const OpGraph graph, megatron::build_graph(clean.index.lane));
  const Recording recording = arrange(std::move(clean.trace), std::move(clean.index), graph, clean.selected);
  return bytes_written("timeline.json.gz", [&](const std::string& path, std::string_view final_path) {
    return write_recorded_timeline(recording, graph, path, final_path);
  });
}

// The bytes of rows.csv.gz (docs/formats/op-traces.md).
Result<std::string> rows_file(const OpTrace& rows) {
  const auto formats = op_trace_formats();
  const auto csv = std::ranges::find(formats, "csv", &OpTraceFormat::name);
  GOODPUT_CHECK(csv != formats.end(), "the CSV format for op traces is missing");
  return bytes_written("rows.csv.gz", [&](const std::string& path, std::string_view final_path) {
    return csv->write(rows, path, final_path);
  });
}

// ---- Bodies with gzip, for clients that take it: a map of 8,192 workers is a megabyte, and a twentieth of
// that compressed.

constexpr std::size_t kWorthIt = 8192;

std::string_view without_blanks(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  return text.substr(0, text.find_last_not_of(" \t") + 1);
}

// Whether a coding in Accept-Encoding has the weight 0, of `CODING;q=WEIGHT` what follows the coding.
bool is_refused(std::string_view parameters) {
  for (const std::string_view parameter : split(parameters, ';')) {
    const std::string_view text = without_blanks(parameter);
    if (equals_lower("q=", text.substr(0, 2))) return !(parse_number(text.substr(2)).value_or(1) > 0);
  }
  return false;
}

// What Accept-Encoding says of gzip; where it does not name it, what it says of `*` (RFC 9110, 12.5.3).
bool takes_gzip(std::string_view accepted) {
  bool takes_any = false;
  for (const std::string_view part : split(accepted, ',')) {
    const std::size_t end = std::min(part.find(';'), part.size());
    const std::string_view coding = without_blanks(part.substr(0, end));
    const bool takes = !is_refused(part.substr(end));
    if (equals_lower("gzip", coding) || equals_lower("x-gzip", coding)) return takes;
    if (coding == "*") takes_any = takes;
  }
  return takes_any;
}

// Nothing: zlib has no memory.
std::optional<std::string> gzipped(const std::string& bytes) {
  constexpr int kGzip = 16 + MAX_WBITS;
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK)
    return std::nullopt;
  std::string out(deflateBound(&stream, bytes.size()), '\0');
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-const-cast,cppcoreguidelines-pro-type-reinterpret-cast): zlib's
  // API
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  // NOLINTNEXTLINE(cppcoreguidelines-pro-type-reinterpret-cast): zlib's API
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const bool is_whole = deflate(&stream, Z_FINISH) == Z_STREAM_END;
  out.resize(stream.total_out);
  deflateEnd(&stream);
  if (!is_whole) return std::nullopt;
  return out;
}

// Compresses the body with gzip, if the client accepts that and the body is large enough.
HttpResponse compressed(HttpResponse response, const HttpRequest& request) {
  const bool is_compressed = response.content_type == "application/gzip";
  if (response.body.size() < kWorthIt || is_compressed) return response;
  response.headers.emplace_back("Vary", "Accept-Encoding");  // of both: a cache tells them apart by it
  if (!takes_gzip(request.header("accept-encoding"))) return response;
  if (std::optional<std::string> body = gzipped(response.body)) {
    response.body = *std::move(body);
    response.headers.emplace_back("Content-Encoding", "gzip");
  }
  return response;
}

// ---- Pages.

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

std::string methods_of(const PageRoute& route) {
  if (route.kind == Kind::kIncidentAction) return "POST";
  return takes_actions(route) ? "GET, HEAD, POST" : "GET, HEAD";
}

// The server turns HEAD into GET.
bool takes_method(const PageRoute& route, std::string_view method) {
  if (method == "POST") return takes_actions(route);
  return method == "GET" && route.kind != Kind::kIncidentAction;
}

// A form leads back to the page of the incident, so that a reload of it does nothing again.
Result<HttpResponse> action_response(PageContext& context, const PageRoute& route,
                                     const HttpRequest& request) {
  GOODPUT_TRY(const ActionOutcome outcome, perform_action(context, route, request));
  if (const HttpResponse* instead = std::get_if<HttpResponse>(&outcome)) return *instead;
  const Incident& incident = std::get<Incident>(outcome);
  if (route.is_api) return incident_response(context, incident);
  HttpResponse response;
  response.status = 303;
  response.headers.emplace_back("Location", incident_link(incident.key));
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
  if (!exists)
    return plain_error(404, "the parameter topic must be all, or job/NAME with the name of an existing job");
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
    case Kind::kIncidents:
      return incidents_page(context);
    case Kind::kIncident:
      return incident_page(context, route, request);
    case Kind::kMetrics:
      return metrics_response(context);
    case Kind::kEvents:
      return events_response(context, request);
    default:
      return error_page(404, "There is no such page.");
  }
}

}  // namespace

Result<ReaderPool::Lease> ReaderPool::take() {
  {
    const std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      Lease lease(*this, std::move(free_.back()));
      free_.pop_back();
      return lease;
    }
  }
  GOODPUT_TRY(MonitorStore store, MonitorStore::open_for_reading(path_));
  return Lease(*this, std::make_unique<MonitorStore>(std::move(store)));
}

void ReaderPool::give_back(std::unique_ptr<MonitorStore> store) {
  const std::lock_guard lock(mutex_);
  free_.push_back(std::move(store));
}

MonitorPages::MonitorPages(const MonitorStatus& status, MonitorPageOptions options)
    : MonitorPages(status, std::move(options), system_time_s) {}

MonitorPages::MonitorPages(const MonitorStatus& status, MonitorPageOptions options, Clock clock)
    : status_(status),
      options_(std::move(options)),
      clock_(std::move(clock)),
      readers_(options_.store_path) {}

HttpResponse MonitorPages::respond(const HttpRequest& request) {
  const PageRoute route = route_of(request.path);
  if (!takes_method(route, request.method)) {
    HttpResponse refused = refusal(route, 405, fmt::format("Allowed methods: {}.", methods_of(route)));
    refused.headers.emplace_back("Allow", methods_of(route));
    return refused;
  }
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
  PageContext context{lease.store(), state, options_, cache_, actions_, clock_()};
  if (request.method == "POST") return action_response(context, route, request);
  if (route.is_api) return api_response(context, route, request);
  if (route.kind == Kind::kTimeline || route.kind == Kind::kRows) return respond_with_file(context, route);
  return page_of(context, route, request);
}

Result<HttpResponse> MonitorPages::respond_with_file(PageContext& context, const PageRoute& route) {
  GOODPUT_TRY(const std::vector<StepTotals> found,
              context.store.steps(route.job, {.from = route.step, .to = route.step, .most = 1}));
  if (found.empty()) return error_page(404, "There is no such step, or it is no longer stored.");
  if (found.front().ops > options_.most_timeline_ops) {
    return error_page(
        413,
        fmt::format("This step has {} ops, which is too many for a browser. Write its rows with 'goodput "
                    "monitor export --trace' and make a timeline with 'goodput whatif --timeline'.",
                    found.front().ops));
  }
  const std::unique_lock<std::mutex> turn = files_.enter();
  if (!turn.owns_lock()) {
    HttpResponse busy = error_page(503, "Another file is being created. Try again in a few seconds.");
    busy.headers.emplace_back("Retry-After", "5");
    return busy;
  }
  GOODPUT_TRY(std::optional<OpTrace> rows, context.store.rows(route.job, route.step));
  if (!rows) return error_page(404, "The rows of this step are no longer stored.");
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
  return text_line(503, fmt::format("the monitor's main loop has not run for {:.0f} s", quiet_s));
}

HttpResponse MonitorPages::readiness(const MonitorState& state) {
  if (!state.problem.empty()) return text_line(503, state.problem);
  if (!state.is_ready) return text_line(503, "the watched folders have not been read yet");
  const Result<ReaderPool::Lease> lease = readers_.take();
  if (!lease) return text_line(503, lease.error().message());
  return text_line(200, "ready");
}

}  // namespace goodput
