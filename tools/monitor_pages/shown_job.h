// A job as pages, metrics and the API tell of it: what is stored of it and what the running monitor says,
// brought together.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/live/step_result.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_pages/page_options.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// A step without what has an entry a worker.
struct StepDigest {
  StepTotals totals;
  std::int32_t dp_size = 1;
  std::int32_t pp_size = 1;
  std::int64_t gpus = 1;
  WorkerPlace worst;                               // the worker that alone costs most
  std::vector<std::vector<WorkerPlace>> suspects;  // of each of `causes`: the first few workers it is about
  std::vector<StepCause> causes;                   // without their workers
  std::vector<double> by_stage;
  std::vector<LabelledSlowdown> by_optype;
};

[[nodiscard]] StepDigest digest_of(const StepResult& result);

// Thread-safe. A full cache is emptied: what pages show next is in it again after one of them.
template <typename Value>
class StepCache {
 public:
  using Key = std::pair<std::string, StepId>;

  explicit StepCache(std::size_t most) : most_(most) {}

  [[nodiscard]] std::optional<Value> find(const Key& key) const {
    const std::lock_guard lock(mutex_);
    const auto found = entries_.find(key);
    if (found == entries_.end()) return std::nullopt;
    return found->second;
  }
  void add(Key key, Value value) {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= most_) entries_.clear();
    entries_.insert_or_assign(std::move(key), std::move(value));
  }

 private:
  std::size_t most_;
  mutable std::mutex mutex_;
  std::map<Key, Value> entries_;
};

// What is costly to make of a step and never changes again, for the steps that were asked for lately.
struct PageCache {
  StepCache<StepDigest> digests{4000};
  StepCache<std::string> maps{16};  // as SVG, a megabyte each for 8,192 workers
};

// Lets one in at a time, and never makes anybody wait.
class Turn {
 public:
  // Without ownership: somebody is in.
  [[nodiscard]] std::unique_lock<std::mutex> enter() { return std::unique_lock(mutex_, std::try_to_lock); }

 private:
  std::mutex mutex_;
};

// What answers are made of.
struct PageContext {
  MonitorStore& store;
  const MonitorState& state;
  const MonitorPageOptions& options;
  PageCache& cache;
  Turn& actions;     // on incidents
  double now_s = 0;  // Unix time
};

enum class JobCondition : std::uint8_t {
  kWaiting,     // no step yet
  kRunning,     // the latest step was analysed
  kRefused,     // the latest step cannot be analysed
  kIncomplete,  // rows of some workers did not come
  kBehind,      // steps are skipped to keep up
  kSilent,      // no rows come
  kUnwatched,   // stored by an earlier monitor; this one does not follow it
};
inline constexpr std::string_view kJobConditions[] = {"waiting", "running", "refused",  "incomplete",
                                                      "behind",  "silent",  "unwatched"};

struct ShownJob {
  JobInfo info;
  std::optional<JobStatus> status;  // absent: not followed now
  JobCondition condition = JobCondition::kWaiting;
  std::int64_t muted_incidents = 0;  // of those that are open
  std::vector<StepDigest> window;    // the latest analysed steps, --window of them, newest first

  // Means over the window; of none: 1 and 0.
  double slowdown = 1;
  double waste = 0;
  double lost_s = 0;                  // a step
  double gpu_hours_per_day = 0;       // that are lost
  std::optional<double> usd_per_day;  // absent: no price is known

  [[nodiscard]] const StepDigest* latest() const { return window.empty() ? nullptr : &window.front(); }
  // Open ones that are not muted.
  [[nodiscard]] std::int64_t urgent_incidents() const { return info.open_incidents - muted_incidents; }
};

// Of all jobs, those that are stored and those that are followed but have no step yet; the ones with urgent
// incidents first, then by waste.
[[nodiscard]] Result<std::vector<ShownJob>> view_jobs(PageContext& context);
// Absent: there is no such job.
[[nodiscard]] Result<std::optional<ShownJob>> view_job(PageContext& context, std::string_view name);

// A likely or unlikely cause over the window of a job.
struct WindowCause {
  std::string name;
  std::size_t likely_in = 0;   // steps of the window
  std::size_t of = 0;          // steps of the window
  std::optional<double> gain;  // mean over the steps in which it is likely
  StepCause latest;            // as of the newest step in which it is likely
  std::vector<WorkerPlace> suspects;
  StepId latest_step;
};
// Those that are likely in some step; in most steps first, then by gain.
[[nodiscard]] std::vector<WindowCause> causes_of(const ShownJob& job);

}  // namespace goodput
