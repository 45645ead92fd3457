// The thread that makes results of steps: analyzes them one after the other, asks the rules, stores both at
// once, and tells everybody. It alone writes to the store.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "sim/live/alert_rules.h"
#include "sim/live/incident_book.h"
#include "tools/monitor/step_analysis.h"
#include "tools/monitor/step_queue.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_store/incident_action.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

struct StepWorkerOptions {
  AlertRules rules;
  std::vector<std::string> sinks;  // names of those that messages are delivered to
  std::optional<double> gpu_hour_usd;
  std::string pages;         // where pages are served, without a slash at the end; empty: nowhere
  std::int32_t window = 20;  // steps that are pooled when an incident opens
  std::int64_t every = 1;    // of which one is analyzed
  std::size_t max_pooled_rows = 4'000'000;  // of larger jobs fewer steps are
  unsigned threads = 1;
  std::chrono::milliseconds retry{1000};  // of results that could not be stored
  // As analyse_step(). What it throws makes the step a refused one.
  std::function<AnalysedStep(GatheredStep step, const JobFacts& job, unsigned threads)> analyze =
      analyse_step;
};

// What is told, on the worker's thread, once it is stored.
struct StepListener {
  std::function<void(const std::string& job, const StepResult& step)> on_step;
  std::function<void(const std::string& job)> on_incident;          // one of it opened, changed or closed
  std::function<void(const std::string& problem)> on_problem;       // storing fails; empty: it works again
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

  // Before start(): continues where the job's incidents were.
  Status add_job(const std::string& job);
  void start();
  // Ends once the queue is closed and empty. Throws what the thread threw.
  void join();
  // Lets go of a step that cannot be stored: it is read again some time.
  void give_up() { is_given_up_ = true; }

  // From any thread: at this moment nothing of these jobs waits to be read, so that no step is silence.
  void note_read(const std::vector<std::string>& jobs);
  // From any thread: what a person does to an incident. The incident after it; nothing: no such incident is
  // open. The future breaks its promise if the worker ends first.
  [[nodiscard]] std::future<Result<std::optional<Incident>>> act(IncidentAction action);

 private:
  struct PendingAction {
    IncidentAction action;
    std::promise<Result<std::optional<Incident>>> done;
  };
  struct QuietJob {
    double read_at_s = 0;  // when nothing of it was unread, the latest time; steady_time_s()
    double quiet_s = 0;    // for so long since silence was counted last
  };

  void run();
  void process(QueuedStep queued);
  [[nodiscard]] AnalysedStep analyze(GatheredStep step, const JobFacts& job) const;
  void count_silence(double now_s);
  void take_actions();
  [[nodiscard]] Result<std::optional<Incident>> apply(const IncidentAction& action);
  void explain(const QueuedStep& queued, const AnalysedStep& analysed, IncidentBook& book,
               IncidentChanges& changes);
  [[nodiscard]] std::vector<OpTrace> recent_rows(const std::string& job, const AnalysedStep& latest,
                                                 std::optional<std::int64_t> since_step);
  // What of these changes is to be stored, and told to the sinks.
  void fill(IncidentBook& book, const IncidentChanges& changes, double now_s, StepCommit& commit) const;
  // False: given up.
  bool commit(const StepCommit& commit);
  void tell(const std::string& job, const IncidentChanges& changes) const;
  IncidentBook& book_of(const std::string& job);
  [[nodiscard]] IncidentContext context_of(const std::string& job) const;

  MonitorStore& store_;
  StepQueue& queue_;
  MonitorStatus& status_;
  StepWorkerOptions options_;
  StepListener listener_;
  std::map<std::string, IncidentBook> books_;
  std::atomic<bool> is_given_up_ = false;
  double last_round_s_ = 0;
  std::mutex mutex_;  // of the next three
  std::map<std::string, QuietJob> quiet_;
  std::deque<PendingAction> actions_;
  bool is_over_ = false;
  std::exception_ptr failure_;
  std::thread thread_;
};

}  // namespace goodput
