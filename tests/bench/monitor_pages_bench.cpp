// What the pages of a monitor take to make, at 128 x 64 workers: median and 99th percentile of each of them,
// with a writer that stores steps beside it.
//
//   monitor_pages_bench           measures
//   monitor_pages_bench --serve   serves pages of made-up jobs until it is told to end, for looking at them
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/tools/monitor_pages/shown_monitor.h"
#include "tools/web/http_server.h"

namespace goodput::testing {
namespace {

using std::chrono::steady_clock;

MadeUpJob large_job() {
  MadeUpJob job;
  job.name = "large";
  job.dp_size = 128;
  job.pp_size = 64;
  job.steps = 200;
  job.has_rows = false;
  return job;
}

double thread_cpu_s() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double seconds_since(steady_clock::time_point begin) {
  return std::chrono::duration<double>(steady_clock::now() - begin).count();
}

void measure(MonitorPages& pages, const std::string& path, bool gzip) {
  constexpr int kTimes = 200;
  HttpRequest request;
  request.method = "GET";
  request.path = path;
  if (gzip) request.headers["accept-encoding"] = "gzip";
  std::vector<double> times;
  std::vector<double> cpu_times;
  HttpResponse response;
  for (int i = 0; i < kTimes; ++i) {
    const auto begin = steady_clock::now();
    const double cpu_begin_s = thread_cpu_s();
    response = pages.respond(request);
    cpu_times.push_back(thread_cpu_s() - cpu_begin_s);
    times.push_back(seconds_since(begin));
  }
  const double first = cpu_times.front();
  std::ranges::sort(times);
  std::ranges::sort(cpu_times);
  fmt::print(
      "{:<32} {:>3} {:>9} B  {:6.1f} {:6.1f} ms  CPU first {:6.1f}  median {:6.1f}  p99 {:6.1f} ms{}\n", path,
      response.status, response.body.size(), times[kTimes / 2] * 1e3, times[kTimes * 99 / 100] * 1e3,
      first * 1e3, cpu_times[kTimes / 2] * 1e3, cpu_times[kTimes * 99 / 100] * 1e3, gzip ? "  (gzip)" : "");
}

int run_measurements() {
  const MadeUpJob job = large_job();
  ShownMonitor monitor({job});
  MonitorPages pages(monitor.status, monitor.options, [&] { return monitor.now_s; });
  // A step of the large job every tenth of a second, a hundred times as fast as life.
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    Result<MonitorStore> store = MonitorStore::open(monitor.options.store_path, {});
    if (!store) std::abort();
    for (std::int64_t step = job.steps; !ends; ++step) {
      StepCommit commit;
      commit.job = job.name;
      commit.steps.emplace_back().result = made_up_step(job, step);
      if (!store->commit(commit)) std::abort();
      std::this_thread::sleep_for(std::chrono::milliseconds{100});
    }
  });
  const std::string incident = "/incidents/" + incident_key_of(job);
  for (const bool gzip : {false, true}) {
    for (const char* path :
         {"/", "/jobs/large", "/jobs/large/steps/0/40", "/jobs/large/workers/2/1", "/incidents",
          incident.c_str(), "/metrics", "/api/v1/jobs", "/api/v1/jobs/large/steps/0/40"}) {
      measure(pages, path, gzip);
    }
  }
  ends = true;
  writer.join();
  return 0;
}

int serve() {
  MadeUpJob healthy;
  healthy.name = "vision-encoder";
  healthy.slow_from = 1000;
  healthy.has_incomplete_step = false;
  MadeUpJob hostile;
  hostile.name = hostile_name("team/job");
  hostile.host_prefix = hostile_name("host");
  ShownMonitor monitor({MadeUpJob{}, healthy, hostile, large_job()});
  monitor.status.update([](MonitorState& state) { state.jobs["not-begun"] = {}; });
  MonitorPages pages(monitor.status, monitor.options, [&] { return monitor.now_s; });
  HttpOptions options;
  if (const char* port = std::getenv("PORT")) options.port = static_cast<std::uint16_t>(std::atoi(port));
  Result<HttpServer> server = HttpServer::start(
      options, [&](const HttpRequest& request) { return pages.respond(request); },
      [](const HttpRequest&) { return std::nullopt; });
  if (!server) {
    fmt::print(stderr, "{}\n", server.error().message());
    return 1;
  }
  fmt::print("http://127.0.0.1:{}\n", server->port());
  std::fflush(stdout);
  for (int second = 0; second < 3600; ++second) {
    std::this_thread::sleep_for(std::chrono::seconds{1});
    server->publish(job_topic("llama-70b"), kStepEvent, "llama-70b");
  }
  return 0;
}

}  // namespace
}  // namespace goodput::testing

int main(int argc, char** argv) {
  const bool serves = argc > 1 && std::string_view(argv[1]) == "--serve";
  return serves ? goodput::testing::serve() : goodput::testing::run_measurements();
}
