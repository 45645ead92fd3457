// What stragglers cost a fleet, and how much of it was studied, in a sentence each.
#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "sim/causes/cause_names.h"
#include "tools/fleet/fleet_report.h"

namespace goodput {
namespace {

constexpr double kLeastCause = 0.0005;  // of the GPU-hours: 0.0 % is not worth naming

// How many of the studied jobs have known GPU-hours.
std::size_t jobs_with_hours(const FleetStudy& study) {
  std::size_t jobs = 0;
  for (const FleetJob* job : study.fleet.studied) jobs += job->has_gpu_hours() ? 1 : 0;
  return jobs;
}

double mean_waste(const FleetStudy& study) {
  double sum = 0;
  for (const FleetJob* job : study.fleet.studied) sum += job->waste();
  return sum / static_cast<double>(study.fleet.studied.size());
}

std::string cost_text(const FleetStudy& study) {
  const std::size_t jobs = study.fleet.studied.size();
  const std::string those = jobs == 1 ? "this job" : fmt::format("these {} jobs", jobs);
  const std::string its = jobs == 1 ? "its" : "their";
  if (!study.gpu_hours) {
    return fmt::format("Stragglers cost {} {:.1f} % of {} time{} ({} GPU-hours are unknown)", those,
                       100 * mean_waste(study), its, jobs == 1 ? "" : " on average", its);
  }
  const std::string cost =
      fmt::format("({} of {})", gpu_hours_text(*study.wasted_gpu_hours), gpu_hours_text(*study.gpu_hours));
  const double share = *study.wasted_gpu_hours / *study.gpu_hours;
  const std::size_t known = jobs_with_hours(study);
  if (known == jobs)
    return fmt::format("Stragglers cost {} {:.1f} % of {} GPU-hours {}", those, 100 * share, its, cost);
  return fmt::format("Stragglers cost {:.1f} % of the GPU-hours {} of {} (known for {} of them)", 100 * share,
                     cost, those, known);
}

std::string costly_text(const FleetStudy& study) {
  const std::size_t jobs = study.fleet.studied.size();
  if (jobs == 1) return "";
  const double percent = 100 * kCostlyWaste;
  if (study.costly_jobs == 0) return fmt::format("; no job loses more than {:g} %", percent);
  return fmt::format("; {} {} more than {:g} %", study.costly_jobs,
                     study.costly_jobs == 1 ? "job loses" : "jobs lose", percent);
}

std::string cause_text(const FleetStudy& study) {
  if (study.causes.empty()) return "; no likely cause was found";
  if (study.causes.front().saved_share < kLeastCause) return "; no likely cause costs much";
  const CauseRecord& cause = study.causes.front();
  return fmt::format("; the costliest likely cause is {} ({:.1f} %, {} {})", plain_cause_name(cause.cause),
                     100 * cause.saved_share, cause.jobs, cause.jobs == 1 ? "job" : "jobs");
}

std::string shares_text(double jobs, std::optional<double> gpu_hours) {
  const std::string hours = gpu_hours ? fmt::format(" ({:.1f} % of the GPU-hours)", 100 * *gpu_hours) : "";
  return fmt::format("{:.1f} % of the jobs{}", 100 * jobs, hours);
}

}  // namespace

std::string kept_text(const KeptJobs& kept) {
  if (kept.of_jobs == 0) return "";
  std::optional<double> gpu_hours;
  if (kept.of_gpu_hours > 0) gpu_hours = kept.gpu_hours / kept.of_gpu_hours;
  return fmt::format(
      "The filters keep {}. The paper kept {}, but it also dropped jobs that it could not analyze, which "
      "have no result here.",
      shares_text(static_cast<double>(kept.jobs) / static_cast<double>(kept.of_jobs), gpu_hours),
      shares_text(KeptJobs::kPaperJobs, KeptJobs::kPaperGpuHours));
}

std::string gpu_hours_text(double gpu_hours) {
  if (std::abs(gpu_hours) < 1) return fmt::format("{:.2g}", gpu_hours);
  if (std::abs(gpu_hours) < 99.95) return fmt::format("{:.1f}", gpu_hours);
  std::string digits = fmt::format("{:.0f}", gpu_hours);
  const std::size_t sign = gpu_hours < 0 ? 1 : 0;
  for (std::size_t at = digits.size(); at > sign + 3;) digits.insert(at -= 3, ",");
  return digits;
}

std::string fleet_headline(const FleetStudy& study) {
  if (study.jobs_read == 0) return "There is no analyzed job to study.";
  if (study.fleet.studied.empty())
    return fmt::format("No job was studied: the filters left out all {}.", study.jobs_read);
  return cost_text(study) + costly_text(study) + cause_text(study) + ".";
}

}  // namespace goodput
