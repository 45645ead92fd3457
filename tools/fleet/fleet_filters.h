// Which jobs of a fleet are studied: the paper leaves out jobs that failed again and again, that are too
// short, and whose replay is off.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/fleet/fleet_job.h"

namespace goodput {

// What counts as one in shares and quantiles.
enum class FleetWeight : std::uint8_t { kJob, kGpuHours };
inline constexpr std::string_view kFleetWeights[] = {"job", "gpu-hours"};

struct FleetFilters {
  std::int64_t most_restarts = 15;  // the paper's
  std::int64_t least_steps = 5;     // "too few" in the paper, without a number
  double most_discrepancy = 0.05;   // from here on a job is left out; the paper's
};

// What a filter left out of the jobs that had passed the filters before it.
struct FilterCount {
  std::string_view key;
  std::string why;
  std::size_t jobs = 0;
  double gpu_hours = 0;     // total of the jobs whose GPU hours are known
  std::size_t of_jobs = 0;  // jobs that reached this filter
  double of_gpu_hours = 0;
  std::size_t unknown_jobs = 0;      // jobs for which the input does not say; they pass
  std::optional<double> paper_jobs;  // shares of the jobs that reached it
  std::optional<double> paper_gpu_hours;
};

// What all filters together keep of the jobs that were read.
struct KeptJobs {
  // Section 7 of the paper: 1 - 0.139 times 1 - 0.5 times 1 - 0.112 of the jobs is 38.2 %. The filter that
  // removed half of them does not exist here: a job that cannot be analyzed has no result to read.
  static constexpr double kPaperJobs = 0.382;
  static constexpr double kPaperGpuHours = 0.564;
  static constexpr double kPaperNotAnalyzed = 0.5;  // of the jobs that reached that filter

  std::size_t jobs = 0;
  double gpu_hours = 0;  // total of the jobs whose GPU hours are known
  std::size_t of_jobs = 0;
  double of_gpu_hours = 0;
};

struct FilteredFleet {
  std::vector<const FleetJob*> studied;
  std::vector<const FleetJob*> with_discrepancy;  // before the filter of the discrepancy
  std::vector<FilterCount> filters;               // in their order
  KeptJobs kept;
};

// References into `jobs`. By GPU-hours, jobs of which these are not known are left out, too.
[[nodiscard]] FilteredFleet filter_fleet(const std::vector<FleetJob>& jobs, const FleetFilters& filters,
                                         FleetWeight weight);

}  // namespace goodput
