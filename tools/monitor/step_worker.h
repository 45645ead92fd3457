// The thread that makes results of steps: analyses them one after the other, asks the alert rules, stores
// both at once, and tells everybody. It alone writes to the store.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/live/alert_book.h"
#include "sim/live/alert_rules.h"
#include "tools/monitor/step_analysis.h"
#include "tools/monitor/step_queue.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

struct StepWorkerOptions {
  AlertRules rules;
  std::vector<std::string> sinks;  // names of those that alerts are delivered to
  std::optional<double> gpu_hour_usd;
  std::string pages;         // where pages are served, without a slash at the end; empty: nowhere
  std::int32_t window = 20;  // steps that are pooled when an alert opens
  std::int64_t every = 1;    // of which one is analysed
  std::size_t most_pooled_rows = 4'000'000;  // of larger jobs fewer steps are
  unsigned threads = 1;
  std::chrono::milliseconds retry{1000};  // of results that could not be stored
};

// What is told, on the worker's thread, once it is stored.
struct StepListener {
  std::function<void(const std::string& job, const StepResult& step)> on_step;
  std::function<void(const Alert& alert)> on_alert;                 // opened or closed
  std::function<void(const std::string& problem)> on_problem;       // storing fails; empty: it does no more
  std::function<void(MonitorStore& store, double now_s)> on_round;  // now and then, between steps
};

class StepWorker {
 public:
  // All must outlive it. `store`: nobody else's until stop().
  StepWorker(MonitorStore& store, StepQueue& queue, MonitorStatus& status, StepWorkerOptions options,
             StepListener listener);
  ~StepWorker();
  StepWorker(const StepWorker&) = delete;
  StepWorker& operator=(const StepWorker&) = delete;

  // Before start(): goes on where the job's alerts were.
  Status add_job(const std::string& job);
  void start();
  // Ends once the queue is closed and empty. Throws what the thread threw.
  void join();
  // Lets go of a step that cannot be stored: it is read again some time.
  void give_up() { is_given_up_ = true; }
  // The reader has nothing that waits: silence is silence of the jobs.
  void set_caught_up(bool is_caught_up) { is_caught_up_ = is_caught_up; }

 private:
  void run();
  void process(QueuedStep queued);
  void look_for_silence(double now_s);
  void explain(const QueuedStep& queued, const AnalysedStep& analysed, std::vector<Alert>& opened);
  [[nodiscard]] std::vector<OpTrace> recent_rows(const std::string& job, const AnalysedStep& latest);
  // The opened alerts with their ids; nothing: given up.
  std::optional<std::vector<Alert>> commit(const StepCommit& commit);
  void tell(AlertBook& book, const std::vector<Alert>& opened, const std::vector<Alert>& closed);
  AlertBook& book_of(const std::string& job);
  [[nodiscard]] AlertContext context_of(const std::string& job) const;

  MonitorStore& store_;
  StepQueue& queue_;
  MonitorStatus& status_;
  StepWorkerOptions options_;
  StepListener listener_;
  std::map<std::string, AlertBook> books_;
  std::atomic<bool> is_given_up_ = false;
  std::atomic<bool> is_caught_up_ = false;
  double last_round_s_ = 0;
  std::exception_ptr failure_;
  std::thread thread_;
};

// Unix time, by a clock that is read once: it never jumps, whatever becomes of the machine's.
[[nodiscard]] double unix_time_s();

}  // namespace goodput
