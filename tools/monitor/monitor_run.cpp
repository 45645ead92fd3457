#include "tools/monitor/monitor_run.h"

#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <csignal>
#include <ctime>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "tools/alerting/alert_sender.h"
#include "tools/alerting/alerting_config.h"
#include "tools/cli/config_files.h"
#include "tools/cli/key_notes.h"
#include "tools/monitor/job_intake.h"
#include "tools/monitor/monitor_clock.h"
#include "tools/monitor/monitor_loop.h"
#include "tools/monitor/push_spool.h"
#include "tools/monitor/step_queue.h"
#include "tools/monitor/step_worker.h"
#include "tools/monitor_pages/incident_actions.h"
#include "tools/monitor_pages/monitor_pages.h"
#include "tools/monitor_pages/page_route.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/web/form.h"
#include "tools/web/http_server.h"
#include "tools/web/origin.h"
#include "tools/web/push_intake.h"
#include "tools/web/push_queue.h"

namespace goodput {
namespace {

// ---- SIGINT, SIGTERM and SIGHUP as a call: for commands that run until they are told to end.

constexpr std::array kStopSignals = {SIGINT, SIGTERM, SIGHUP};
constexpr timespec kSignalPause = {0, 100'000'000};  // whether it is over

sigset_t stop_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : kStopSignals) sigaddset(&signals, signal);
  return signals;
}

// While it is there, these signals end nothing; the first one calls back, on a thread of its own. Make it
// before other threads, which inherit what it blocks.
class StopSignal {
 public:
  explicit StopSignal(std::function<void()> on_stop) : before_() {
    const sigset_t signals = stop_signals();
    pthread_sigmask(SIG_BLOCK, &signals, &before_);
    thread_ = std::thread([this, signals, on_stop = std::move(on_stop)] {
      while (!is_over_) {
        if (sigtimedwait(&signals, nullptr, &kSignalPause) < 0) continue;
        if (!was_received_.exchange(true)) on_stop();
      }
    });
  }
  ~StopSignal() {
    is_over_ = true;
    thread_.join();
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  [[nodiscard]] bool was_received() const { return was_received_; }

 private:
  sigset_t before_;
  std::atomic<bool> was_received_ = false;
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

// ---- Alerts from the store of a monitor to their sinks.

constexpr std::chrono::milliseconds kLookEvery{20};  // at the end, for what is on its way

// What waits in the store.
class StoredDeliveries final : public DeliveryQueue {
 public:
  explicit StoredDeliveries(MonitorStore& store) : store_(store) {}

  [[nodiscard]] Result<std::vector<Delivery>> waiting() override { return store_.deliveries(); }
  [[nodiscard]] Result<std::optional<Incident>> incident(const std::string& key) override {
    return store_.incident(key);
  }
  Status retried(const Delivery& delivery) override { return store_.update_delivery(delivery); }
  Status finished(std::int64_t delivery) override { return store_.finish_delivery(delivery); }

 private:
  MonitorStore& store_;
};

class AlertDelivery {
 public:
  // `tell`: prints lines for people, whole; on the thread of pump().
  using Tell = std::function<void(const std::string& lines)>;
  static Result<std::unique_ptr<AlertDelivery>> start(const AlertingConfig& config, Tell tell) {
    std::unique_ptr<AlertDelivery> delivery(new AlertDelivery(std::move(tell)));
    GOODPUT_TRY(AlertSender sender, AlertSender::start(config, delivery->lines_, [] {}));
    delivery->sender_.emplace(std::move(sender));
    return delivery;
  }

  [[nodiscard]] std::vector<std::string> sinks() const { return sender_->sinks(); }
  // Hands out what is due; what there is to do then. On the thread of the store.
  Result<SendReport> pump(MonitorStore& store, double now_s) {
    StoredDeliveries queue(store);
    Result<SendReport> report = sender_->pump(queue, now_s);
    std::string lines = lines_.str();
    lines_.str({});
    if (report) {
      for (const std::string& problem : report->problems) lines += "note: " + problem + "\n";
    }
    if (!lines.empty()) tell_(lines);
    return report;
  }

  // Goes on until nothing is due or on its way, or `now_s()` says that it is `until_s`.
  Status finish(MonitorStore& store, const std::function<double()>& now_s, double until_s) {
    while (true) {
      GOODPUT_TRY(const SendReport report, pump(store, now_s()));
      const bool is_done = report.handed_out == 0 && !sender_->is_busy();
      if (is_done || now_s() >= until_s) return Ok{};
      std::this_thread::sleep_for(kLookEvery);
    }
  }

 private:
  explicit AlertDelivery(Tell tell) : tell_(std::move(tell)) {}

  Tell tell_;
  std::ostringstream lines_;  // of sinks that print
  std::optional<AlertSender> sender_;
};

// ---- The run.

constexpr std::size_t kMostQueuedRows = 4'000'000;
constexpr double kLastDeliveriesS = 30;             // that the end waits for; the rest is for the next time
constexpr std::chrono::seconds kLongestAction{30};  // what a person does waits for the step in analysis
constexpr std::size_t kMostPushedBytes = std::size_t{256} << 20;     // that are not yet in the spool
constexpr std::uint64_t kMostSpooledBytes = std::uint64_t{1} << 30;  // not yet read of it

std::string url_of(const std::string& address, std::uint16_t port) {
  const bool is_v6 = address.find(':') != std::string::npos;
  return is_v6 ? fmt::format("http://[{}]:{}", address, port) : fmt::format("http://{}:{}", address, port);
}

// As many as the system lets us open; half of them are for files that are followed.
std::size_t allow_open_files() {
  constexpr rlim_t kMostUseful = 8192;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return FollowOptions{}.open_files;
  const rlim_t wanted = std::min(kMostUseful, limit.rlim_max);
  if (limit.rlim_cur < wanted) {
    limit.rlim_cur = wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0) return FollowOptions{}.open_files;
  }
  return static_cast<std::size_t>(limit.rlim_cur / 2);
}

std::string canonical(const std::string& path) {
  std::error_code failed;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(path, failed);
  return failed ? path : whole.string();
}

// What people read, of several threads.
class Printer {
 public:
  explicit Printer(const CommandContext& context) : context_(context) {}

  void line(const std::string& text) {
    const std::lock_guard lock(mutex_);
    context_.print(text + "\n");
    context_.out.flush();
  }
  void complain(const std::string& lines) {
    const std::lock_guard lock(mutex_);
    context_.err << lines << std::flush;
  }
  void note(const std::string& text) {
    const std::lock_guard lock(mutex_);
    context_.note(on_one_line(text));
  }

 private:
  const CommandContext& context_;
  std::mutex mutex_;
};

std::string describe_step(const std::string& job, const StepResult& step) {
  const StepTotals& totals = step.totals;
  const std::string which = fmt::format("{} run {} step {}", on_one_line(job), totals.id.run, totals.id.step);
  if (totals.status != StepStatus::kAnalysed) {
    const std::string why = step.problem.empty() ? "" : ": " + on_one_line(step.problem);
    return fmt::format("{}: {}{}", which, kStepStatuses[static_cast<std::size_t>(totals.status)], why);
  }
  return fmt::format("{}: {:.3f} s, S {:.3f}, waste {:.1f} %, worst worker {} {:.3f}x, {}", which,
                     totals.recorded_s, totals.slowdown, 1e2 * totals.waste(),
                     on_one_line(describe(place_of(step.layout, totals.worst_worker))), totals.worst_slowdown,
                     totals.cause.empty()
                         ? "no likely cause"
                         : fmt::format("likely cause {} {:.3f}x", totals.cause, totals.gain));
}

// All parts, in the order in which they need each other.
class Monitor {
 public:
  Monitor(const MonitorArguments& arguments, const MonitorSettings& settings, const CommandContext& context)
      : arguments_(arguments),
        settings_(settings),
        context_(context),
        printer_(context),
        queue_(kMostQueuedRows) {}

  Result<ExitCode> run() {
    GOODPUT_TRY_STATUS(prepare());
    GOODPUT_TRY_STATUS(open());
    const StopSignal signal([this] { loop_->stop(); });
    serve();
    GOODPUT_TRY_STATUS(start_worker());
    const Status read = loop_->run();
    if (!read || signal.was_received()) {
      queue_.close(StepQueue::Waiting::kDrop);
      worker_->give_up();
    }
    worker_->join();
    server_.reset();
    if (!read) return read.error();
    if (arguments_.is_once) {
      GOODPUT_TRY_STATUS(delivery_->finish(*store_, wall_time_s, wall_time_s() + kLastDeliveriesS));
      if (!signal.was_received()) GOODPUT_TRY_STATUS(note_jobs_without_steps());
    }
    return signal.was_received() ? ExitCode::kInterrupted : ExitCode::kOk;
  }

 private:
  // Everything that can be refused, before open() makes the first file.
  Status prepare() {
    GOODPUT_TRY(access_, read_access(settings_.access));
    GOODPUT_TRY(const config::Library library, config_library(context_));
    GOODPUT_TRY(const std::string rules,
                config_file(settings_.rules.empty() ? std::string(kDefaultAlertRules) : settings_.rules,
                            kAlertRuleFiles, library, context_));
    GOODPUT_TRY(alerting_, read_alerting_config(rules));
    for (const std::string& line : key_note_lines(alerting_.notes, rules)) printer_.note(line);
    if (!arguments_.alert_exec.empty()) {
      GOODPUT_TRY(ExecSink exec, exec_sink_of(arguments_.alert_exec));
      alerting_.sinks.push_back({.name = "--alert-exec", .target = std::move(exec)});
    }
    GOODPUT_TRY(delivery_, AlertDelivery::start(
                               alerting_, [this](const std::string& lines) { printer_.complain(lines); }));
    GOODPUT_TRY_STATUS(check_metadata());
    if (arguments_.takes_pushes) GOODPUT_TRY_STATUS(PushSpool::check(spool_folder()));
    return listen();
  }

  [[nodiscard]] std::string spool_folder() const { return arguments_.store + ".spool"; }

  // Metadata that cannot be read: what opening the jobs would find.
  [[nodiscard]] Status check_metadata() const {
    std::vector<std::string> folders;
    for (const WatchedJob& job : settings_.jobs) folders.push_back(job.folder);
    if (folders.empty()) folders.emplace_back();  // of jobs that push, --meta is the only one
    for (const std::string& folder : folders) {
      JobIntakeOptions options;
      options.metadata_path = arguments_.metadata_path;
      options.folder = folder;
      GOODPUT_TRY([[maybe_unused]] const JobIntake intake, JobIntake::open(std::move(options)));
    }
    return Ok{};
  }

  // Clients wait until serve().
  Status listen() {
    if (arguments_.no_pages || arguments_.is_once) return Ok{};
    HttpOptions http;
    http.body_bytes = arguments_.takes_pushes ? kMostPushBytes : kMostFormBytes;
    http.address = arguments_.address;
    http.port = static_cast<std::uint16_t>(arguments_.port);
    if (const std::optional<std::string> origin = origin_of(arguments_.url)) own_origins_.push_back(*origin);
    http.origins = own_origins_;
    GOODPUT_TRY(server_, HttpServer::listen(http));
    local_url_ = url_of(arguments_.address, server_->port());
    url_ = arguments_.url.empty() ? local_url_ : arguments_.url;
    while (url_.ends_with('/')) url_.pop_back();
    return Ok{};
  }

  Status open() {
    GOODPUT_TRY_STATUS(open_store());
    GOODPUT_TRY(reader_, MonitorStore::open_for_reading(arguments_.store));
    status_.update([](MonitorState& state) { state.started_s = wall_time_s(); });
    if (arguments_.takes_pushes) {
      GOODPUT_TRY(PushSpool spool, PushSpool::open(spool_folder()));
      GOODPUT_TRY_STATUS(spool.forget_removed(*store_));
      GOODPUT_TRY(PushKeys keys, spool.keys());
      pushes_.know(std::move(keys));
      spool_.emplace(std::move(spool));
    }
    MonitorLoopOptions options;
    options.jobs = settings_.jobs;
    if (spool_) options.spool = spool_->folder();
    options.metadata_path = arguments_.metadata_path;
    options.seconds_per_unit = settings_.seconds_per_unit;
    options.steps = settings_.steps;
    options.is_once = arguments_.is_once;
    options.follow.watch = arguments_.polls ? FollowOptions::Watch::kPoll : FollowOptions::Watch::kAuto;
    options.follow.open_files = allow_open_files();
    if (arguments_.is_once) options.follow.settle = std::chrono::milliseconds{0};
    const std::string store = canonical(arguments_.store);
    for (const char* suffix : {"", "-wal", "-shm", "-lock"}) options.follow.ignored.push_back(store + suffix);
    GOODPUT_TRY(MonitorLoop loop, MonitorLoop::open(std::move(options), *reader_, queue_, status_));
    loop_.emplace(std::move(loop));
    loop_->on_note = [this](const std::string& note) { printer_.note(note); };
    return Ok{};
  }

  // Of a file that is refused (it is not a database of a monitor, say) no lock stays that was not there
  // before.
  Status open_store() {
    const std::string lock = arguments_.store + "-lock";
    std::error_code ignored;
    const bool had_lock = std::filesystem::exists(lock, ignored);
    Result<MonitorStore> store = MonitorStore::open(arguments_.store, settings_.store);
    if (!store && !had_lock) std::filesystem::remove(lock, ignored);
    GOODPUT_TRY(store_, std::move(store));
    return Ok{};
  }

  Status note_jobs_without_steps() {
    for (const WatchedJob& job : settings_.jobs) {
      GOODPUT_TRY(const std::optional<JobInfo> info, store_->job(job.name));
      if (!info || !info->latest)
        printer_.note(
            fmt::format("{}: found no training steps in this folder; the folder must contain the job's ops "
                        "as raw logs, CSV, Parquet or Chrome JSON",
                        job.folder));
    }
    return Ok{};
  }

  void serve() {
    if (!server_) return;
    MonitorPageOptions options;
    options.store_path = arguments_.store;
    options.gpu_hour_usd = arguments_.gpu_hour_usd;
    options.window = static_cast<std::int32_t>(arguments_.window);
    options.takes_pushes = arguments_.takes_pushes;
    if (access_) options.act = [this](const IncidentAction& action) { return act(action); };
    pages_.emplace(status_, std::move(options), wall_time_s);
    server_->serve([this](const HttpRequest& request) { return respond(request); },
                   [this](const HttpRequest& request) { return refuse(request); });
    printer_.note(url_ == local_url_ ? fmt::format("web pages at {}/", url_)
                                     : fmt::format("web pages at {}/ (listening on {}/)", url_, local_url_));
  }

  // What is wrong with a request before its body is read.
  std::optional<HttpResponse> refuse(const HttpRequest& request) {
    if (auto refusal = refuse_stranger(access_, request, {"/healthz", "/readyz"})) return refusal;
    if (!PushIntake::is_push_path(request.path)) {
      const bool acts = request.method == "POST" && takes_actions(route_of(request.path));
      return acts ? refuse_incident_action(access_, request, own_origins_) : refuse_large_form(request);
    }
    if (!spool_) return plain_error(404, "this monitor does not accept pushed rows; start it with --push");
    if (status_.state().spooled_bytes > kMostSpooledBytes)
      return plain_error(429, "too many pushed rows are waiting to be read; try again later");
    return push_intake_.refuse(request);
  }

  HttpResponse respond(const HttpRequest& request) {
    if (!PushIntake::is_push_path(request.path)) return pages_->respond(request);
    const std::lock_guard lock(spool_mutex_);
    HttpResponse response = push_intake_.accept(request);
    const Status spooled = spool_->take(pushes_);
    if (!spooled) return plain_error(503, spooled.error().message());
    loop_->wake();
    return response;
  }

  // On a thread of the server, which serves before the worker starts and after it ends.
  Result<std::optional<Incident>> act(const IncidentAction& action) {
    const Error not_running{"the monitor is starting or shutting down; try again when it is running"};
    StepWorker* worker = acting_worker_;
    if (worker == nullptr) return not_running;
    std::future<Result<std::optional<Incident>>> done = worker->act(action);
    if (done.wait_for(kLongestAction) != std::future_status::ready) {
      return Error{
          fmt::format("the monitor is busy and did not finish this action within {} s; check the incident "
                      "before you retry, because the action may still take effect",
                      kLongestAction.count())};
    }
    try {
      return done.get();
    } catch (const std::future_error&) {
      return not_running;
    }
  }

  Status start_worker() {
    StepWorkerOptions options;
    options.rules = alerting_.rules;
    options.sinks = delivery_->sinks();
    options.gpu_hour_usd = arguments_.gpu_hour_usd;
    options.pages = url_;
    options.window = static_cast<std::int32_t>(arguments_.window);
    options.every = arguments_.every;
    StepListener listener;
    listener.on_step = [this](const std::string& job, const StepResult& step) { tell_of_step(job, step); };
    listener.on_incident = [this](const std::string& job) { publish(job, kIncidentEvent); };
    listener.on_problem = [this](const std::string& problem) {
      printer_.note(
          problem.empty()
              ? "the database is writable again; storing results resumed"
              : problem + "; goodput retries every second and reads no more files until storing succeeds");
    };
    listener.on_round = [this](MonitorStore& store, double now_s) { round(store, now_s); };
    worker_.emplace(*store_, queue_, status_, std::move(options), std::move(listener));
    loop_->on_round = [this] { worker_->note_read(loop_->read_jobs()); };
    for (const std::string& job : loop_->job_names()) GOODPUT_TRY_STATUS(worker_->add_job(job));
    worker_->start();
    acting_worker_ = &*worker_;
    return Ok{};
  }

  void publish(const std::string& job, std::string_view event) {
    if (!server_) return;
    server_->publish(all_jobs_topic(), event, job);
    server_->publish(job_topic(job), event, job);
  }

  void tell_of_step(const std::string& job, const StepResult& step) {
    printer_.line(describe_step(job, step));
    const StepTotals& totals = step.totals;
    status_.update([&](MonitorState& state) {
      state.jobs[job].lag_s = std::max(0.0, totals.finished_s - totals.received_s);
    });
    publish(job, kStepEvent);
  }

  // Between steps, on the thread of the store.
  void round(MonitorStore& store, double now_s) {
    const Result<SendReport> sent = delivery_->pump(store, now_s);
    const Status removed = spool_ ? spool_->remove_used(store) : Status(Ok{});
    status_.update([&](MonitorState& state) {
      state.set_problem("alerts", sent ? "" : sent.error().message());
      state.set_problem("rows that were pushed", removed ? "" : removed.error().message());
      if (sent) state.undelivered = sent->waiting;
    });
  }

  const MonitorArguments& arguments_;
  const MonitorSettings& settings_;
  const CommandContext& context_;
  Printer printer_;
  AlertingConfig alerting_;
  std::unique_ptr<AlertDelivery> delivery_;
  std::optional<AccessToken> access_;
  PushQueue pushes_{kMostPushedBytes, [] {}};
  PushIntake push_intake_{pushes_};
  std::mutex spool_mutex_;
  std::optional<PushSpool> spool_;
  std::optional<MonitorStore> store_;   // the worker's
  std::optional<MonitorStore> reader_;  // the loop's
  MonitorStatus status_;
  StepQueue queue_;
  std::optional<MonitorLoop> loop_;
  std::optional<StepWorker> worker_;
  std::atomic<StepWorker*> acting_worker_ = nullptr;  // once it was started
  std::optional<MonitorPages> pages_;
  std::optional<HttpServer> server_;
  std::vector<std::string> own_origins_;
  std::string url_;        // by which people reach the pages
  std::string local_url_;  // without a proxy
};

}  // namespace

Result<ExitCode> run_monitor(const MonitorArguments& arguments, const MonitorSettings& settings,
                             const CommandContext& context) {
  return Monitor(arguments, settings, context).run();
}

}  // namespace goodput
