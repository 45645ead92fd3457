#include "tools/fleet/fleet_filters.h"

#include <fmt/format.h>

#include <utility>

namespace goodput {
namespace {

enum class FilterVerdict : std::uint8_t { kStays, kGoes, kUnknown };

// Moves out of `jobs` what goes; `judge(job)` is a FilterVerdict.
template <typename Judge>
FilterCount run_filter(std::vector<const FleetJob*>& jobs, FilterCount count, Judge judge) {
  count.of_jobs = jobs.size();
  std::vector<const FleetJob*> stay;
  for (const FleetJob* job : jobs) {
    const double gpu_hours = job->gpu_hours.value_or(0);
    count.of_gpu_hours += gpu_hours;
    const FilterVerdict verdict = judge(*job);
    if (verdict == FilterVerdict::kUnknown) ++count.unknown_jobs;
    if (verdict != FilterVerdict::kGoes) {
      stay.push_back(job);
      continue;
    }
    ++count.jobs;
    count.gpu_hours += gpu_hours;
  }
  jobs = std::move(stay);
  return count;
}

FilterVerdict goes_if(bool goes) {
  return goes ? FilterVerdict::kGoes : FilterVerdict::kStays;
}

double gpu_hours_of(const std::vector<const FleetJob*>& jobs) {
  double hours = 0;
  for (const FleetJob* job : jobs) hours += job->gpu_hours.value_or(0);
  return hours;
}

FilterCount filter_named(std::string_view key, std::string why, std::optional<double> paper_jobs = {},
                         std::optional<double> paper_gpu_hours = {}) {
  FilterCount count;
  count.key = key;
  count.why = std::move(why);
  count.paper_jobs = paper_jobs;
  count.paper_gpu_hours = paper_gpu_hours;
  return count;
}

}  // namespace

FilteredFleet filter_fleet(const std::vector<FleetJob>& jobs, const FleetFilters& filters,
                           FleetWeight weight) {
  FilteredFleet fleet;
  std::vector<const FleetJob*> left;
  for (const FleetJob& job : jobs) left.push_back(&job);
  fleet.kept.of_jobs = left.size();
  fleet.kept.of_gpu_hours = gpu_hours_of(left);
  if (weight == FleetWeight::kGpuHours) {
    fleet.filters.push_back(
        run_filter(left, filter_named("gpu_hours", "unknown GPU-hours, so the job has no weight"),
                   [](const FleetJob& job) { return goes_if(!job.gpu_hours || *job.gpu_hours <= 0); }));
  }
  fleet.filters.push_back(run_filter(
      left,
      filter_named("restarts", fmt::format("restarted more than {} times", filters.most_restarts), 0.139,
                   0.073),
      [&](const FleetJob& job) {
        return job.restarts ? goes_if(*job.restarts > filters.most_restarts) : FilterVerdict::kUnknown;
      }));
  // The paper says of 28 % of the 50.0 % that it could not analyze that they have too few steps.
  fleet.filters.push_back(
      run_filter(left,
                 filter_named("steps", fmt::format("fewer than {} analyzed steps", filters.least_steps),
                              0.28 * KeptJobs::kPaperNotAnalyzed),
                 [&](const FleetJob& job) { return goes_if(job.steps < filters.least_steps); }));
  fleet.with_discrepancy = left;
  fleet.filters.push_back(
      run_filter(left,
                 filter_named("discrepancy",
                              fmt::format("replay error of {:g} % or more", 100 * filters.most_discrepancy),
                              0.112, 0.077),
                 [&](const FleetJob& job) {
                   return job.discrepancy ? goes_if(*job.discrepancy >= filters.most_discrepancy)
                                          : FilterVerdict::kUnknown;
                 }));
  fleet.kept.jobs = left.size();
  fleet.kept.gpu_hours = gpu_hours_of(left);
  fleet.studied = std::move(left);
  return fleet;
}

}  // namespace goodput
