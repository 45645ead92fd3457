// A job as pages, metrics and the API tell of it: what is stored of it and what the running monitor says,
// brought together.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "tools/monitor_pages/monitor_status.h"
#include "tools/monitor_pages/page_cache.h"
#include "tools/monitor_pages/page_options.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// What answers are made of.
struct PageContext {
  MonitorStore& store;
  const MonitorState& state;
  const MonitorPageOptions& options;
  PageCache& cache;
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
  std::vector<StepDigest> window;  // the latest analysed steps, --window of them, newest first

  // Means over the window; of none: 1 and 0.
  double slowdown = 1;
  double waste = 0;
  double lost_s = 0;                  // a step
  double gpu_hours_per_day = 0;       // that are lost
  std::optional<double> usd_per_day;  // absent: no price is known

  [[nodiscard]] const StepDigest* latest() const { return window.empty() ? nullptr : &window.front(); }
};

// Of all jobs, those that are stored and those that are followed but have no step yet; the ones with open
// alerts first, then by waste.
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
