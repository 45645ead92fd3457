#include "tools/monitor_pages/shown_job.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace goodput {
namespace {

// A step that was stored is never changed, so that one reading is enough.
Result<std::optional<StepDigest>> read_digest(PageContext& context, const std::string& job, StepId id) {
  if (std::optional<StepDigest> known = context.cache.digests.find({job, id})) return known;
  GOODPUT_TRY(const std::optional<StepResult> result, context.store.step(job, id));
  if (!result) return std::optional<StepDigest>{};
  StepDigest digest = digest_of(*result);
  context.cache.digests.add({job, id}, digest);
  return std::optional<StepDigest>{std::move(digest)};
}

bool is_silent(const PageContext& context, const ShownJob& job) {
  if (job.status->last_row_s <= 0) return false;
  const double step_s = job.latest() != nullptr ? job.latest()->totals.recorded_s : 0;
  return context.now_s - job.status->last_row_s > std::max(context.options.silent_after_s, 5 * step_s);
}

JobCondition condition_of(const PageContext& context, const ShownJob& job) {
  if (!job.status) return JobCondition::kUnwatched;
  if (is_silent(context, job)) return JobCondition::kSilent;
  if (job.status->is_behind) return JobCondition::kBehind;
  if (!job.info.latest) return JobCondition::kWaiting;
  if (job.info.latest->status == StepStatus::kIncomplete) return JobCondition::kIncomplete;
  if (job.info.latest->status == StepStatus::kRefused) return JobCondition::kRefused;
  return JobCondition::kRunning;
}

void add_means(const MonitorPageOptions& options, ShownJob& job) {
  if (job.window.empty()) return;
  double slowdown = 0;
  double waste = 0;
  double lost_s = 0;
  for (const StepDigest& step : job.window) {
    slowdown += step.totals.slowdown;
    waste += step.totals.waste();
    lost_s += step.totals.lost_s();
  }
  const auto steps = static_cast<double>(job.window.size());
  job.slowdown = slowdown / steps;
  job.waste = waste / steps;
  job.lost_s = lost_s / steps;
  job.gpu_hours_per_day = job.waste * 24 * static_cast<double>(job.window.front().gpus);
  if (options.gpu_hour_usd) job.usd_per_day = job.gpu_hours_per_day * *options.gpu_hour_usd;
}

Result<ShownJob> view_of(PageContext& context, JobInfo info) {
  ShownJob job;
  job.info = std::move(info);
  const auto status = context.state.jobs.find(job.info.name);
  if (status != context.state.jobs.end()) job.status = status->second;
  StepQuery query;
  query.most = static_cast<std::size_t>(std::max(1, context.options.window));
  query.newest_first = true;
  query.status = StepStatus::kAnalysed;
  GOODPUT_TRY(const std::vector<StepTotals> newest, context.store.steps(job.info.name, query));
  for (const StepTotals& totals : newest) {
    GOODPUT_TRY(std::optional<StepDigest> digest, read_digest(context, job.info.name, totals.id));
    if (digest) job.window.push_back(std::move(*digest));
  }
  if (job.info.open_incidents > 0) {
    GOODPUT_TRY(
        const std::vector<Incident> open,
        context.store.incidents(job.info.name, true, static_cast<std::size_t>(job.info.open_incidents)));
    job.muted_incidents =
        std::ranges::count_if(open, [&](const Incident& one) { return one.is_muted(context.now_s); });
  }
  add_means(context.options, job);
  job.condition = condition_of(context, job);
  return job;
}

}  // namespace

StepDigest digest_of(const StepResult& result) {
  constexpr std::size_t kMostSuspects = 8;
  StepDigest digest;
  const JobLayout& layout = result.layout;
  digest.totals = result.totals;
  digest.dp_size = layout.dp_size;
  digest.pp_size = layout.pp_size;
  digest.gpus = layout.gpus();
  if (result.totals.worst_worker < layout.workers())
    digest.worst = place_of(layout, result.totals.worst_worker);
  for (const StepCause& cause : result.causes) {
    std::vector<WorkerPlace>& suspects = digest.suspects.emplace_back();
    for (const std::size_t worker : cause.workers) {
      if (suspects.size() < kMostSuspects && worker < layout.workers())
        suspects.push_back(place_of(layout, worker));
    }
    digest.causes.push_back(cause);
    digest.causes.back().workers.clear();
  }
  digest.by_stage = result.by_stage;
  digest.by_optype = result.by_optype;
  return digest;
}

Result<std::vector<ShownJob>> view_jobs(PageContext& context) {
  GOODPUT_TRY(std::vector<JobInfo> stored, context.store.jobs());
  for (const auto& [name, status] : context.state.jobs) {
    if (std::ranges::find(stored, name, &JobInfo::name) != stored.end()) continue;
    stored.emplace_back().name = name;
  }
  std::vector<ShownJob> jobs;
  for (JobInfo& info : stored) {
    GOODPUT_TRY(ShownJob job, view_of(context, std::move(info)));
    jobs.push_back(std::move(job));
  }
  std::ranges::stable_sort(jobs, [](const ShownJob& a, const ShownJob& b) {
    const auto key = [](const ShownJob& job) { return std::tuple(job.urgent_incidents() == 0, -job.waste); };
    return key(a) < key(b);
  });
  return jobs;
}

Result<std::optional<ShownJob>> view_job(PageContext& context, std::string_view name) {
  GOODPUT_TRY(std::optional<JobInfo> info, context.store.job(name));
  if (!info) {
    if (!context.state.jobs.contains(std::string(name))) return std::optional<ShownJob>{};
    info.emplace().name = name;
  }
  GOODPUT_TRY(ShownJob job, view_of(context, std::move(*info)));
  return std::optional<ShownJob>{std::move(job)};
}

std::vector<WindowCause> causes_of(const ShownJob& job) {
  std::vector<WindowCause> causes;
  std::vector<double> gains;  // sums, of those of `causes`
  for (const StepDigest& step : job.window) {
    for (std::size_t i = 0; i < step.causes.size(); ++i) {
      const StepCause& cause = step.causes[i];
      if (!cause.is_likely) continue;
      const auto found = std::ranges::find(causes, cause.name, &WindowCause::name);
      const auto index = static_cast<std::size_t>(found - causes.begin());
      if (found == causes.end()) {
        causes.push_back(
            {cause.name, 0, job.window.size(), std::nullopt, cause, step.suspects[i], step.totals.id});
        gains.push_back(0);
      }
      ++causes[index].likely_in;
      gains[index] += cause.gain.value_or(1);
    }
  }
  for (std::size_t i = 0; i < causes.size(); ++i)
    causes[i].gain = gains[i] / static_cast<double>(causes[i].likely_in);
  std::ranges::stable_sort(causes, [](const WindowCause& a, const WindowCause& b) {
    return std::tuple(a.likely_in, *a.gain) > std::tuple(b.likely_in, *b.gain);
  });
  return causes;
}

}  // namespace goodput
