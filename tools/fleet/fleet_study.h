// The study of "Understanding Stragglers in Large Model Training Using What-if Analysis" (OSDI'25, sections 4
// and 5) over the jobs of a fleet: its figures, each beside what the paper found.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/estimate.h"
#include "tools/fleet/fleet_filters.h"
#include "tools/fleet/fleet_job.h"
#include "tools/fleet/fleet_sample.h"

namespace goodput {

// The paper's thresholds.
inline constexpr double kSlowJob = 1.1;          // S from here on
inline constexpr double kMostOfLoss = 0.5;       // of M_W and M_S
inline constexpr double kHighCorrelation = 0.9;  // of forward and backward passes

inline constexpr double kCostlyWaste = 0.1;  // of a job's GPU-hours, for the headline

enum class FigureUnit : std::uint8_t { kShare, kSlowdown, kCorrelation };
inline constexpr std::string_view kFigureUnits[] = {"share", "slowdown", "correlation"};

struct FleetFigure {
  std::string_view key;
  std::string_view what;  // for people
  std::string_view over;  // whom it is about: the denominator
  FigureUnit unit = FigureUnit::kShare;
  std::size_t jobs = 0;             // of the denominator
  std::optional<Estimate> value{};  // absent: there are none
  std::optional<double> paper{};
};

// What an op type alone loses, in the mean.
struct OptypeWaste {
  std::string optype;
  std::size_t jobs = 0;  // that have it
  double waste = 0;
};

// Jobs of about a size.
struct SizeClass {
  std::int64_t least_gpus = 0;
  std::int64_t most_gpus = 0;  // both included
  std::size_t jobs = 0;
  double mean_slowdown = 1;
  double slow_share = 0;  // with S >= kSlowJob
};

// A host that was slow.
struct HostRecord {
  std::string host;
  std::size_t slow_in = 0;  // jobs
  std::size_t ran_in = 0;   // jobs that name it, slow or not
  double mean_slowdown = 1;
  double worst_slowdown = 1;
  std::vector<std::string> jobs;  // in which it was slow
};

struct CauseRecord {
  std::string cause;
  std::size_t jobs = 0;  // of which it is likely
  double mean_slowdown = 1;
  std::optional<double> mean_gain;
  // What its fix saves: 1 - 1/gain of such a job. Causes of one job overlap, so these do not add up.
  double saved_share = 0;                 // of FleetStudy::gpu_hours; without any, of the mean job's time
  std::optional<double> saved_gpu_hours;  // absent as FleetStudy::gpu_hours is
};

// A distribution to be drawn.
struct FleetCurve {
  std::string_view key;
  std::string_view what;  // the value
  std::string_view over;
  FleetSample sample;
  FigureUnit unit = FigureUnit::kShare;  // of the value
  std::optional<double> paper_mark;      // a value that the paper's text gives a share for
};

struct FleetStudy {
  FleetWeight weight = FleetWeight::kJob;
  std::size_t jobs_read = 0;
  FilteredFleet fleet;
  std::optional<double> gpu_hours;         // of the studied jobs of which they are known
  std::optional<double> wasted_gpu_hours;  // of these, by stragglers
  std::size_t costly_jobs = 0;             // that waste more than kCostlyWaste
  std::vector<const FleetJob*> by_cost;    // studied, those that waste most GPU-hours first
  std::vector<FleetFigure> figures;
  std::vector<FleetCurve> curves;
  std::vector<OptypeWaste> optypes;        // those that lose most first
  std::vector<SizeClass> sizes;            // ascending
  std::optional<double> size_correlation;  // rank correlation of S and GPUs (Spearman)
  std::vector<CauseRecord> causes;         // those whose fix saves most first
  std::size_t jobs_with_hosts = 0;
  std::vector<HostRecord> hosts;  // slow in most jobs first
};

struct FleetStudyOptions {
  FleetFilters filters;
  FleetWeight weight = FleetWeight::kJob;
  std::uint64_t seed = 0;  // of the intervals
};

// Keeps pointers into `jobs`.
[[nodiscard]] FleetStudy study_fleet(const std::vector<FleetJob>& jobs, const FleetStudyOptions& options);

// Parts of it (tools/fleet/fleet_breakdowns.cpp). `weights`: of the jobs.
[[nodiscard]] std::vector<OptypeWaste> waste_by_optype(const std::vector<const FleetJob*>& jobs,
                                                       const std::vector<double>& weights);
[[nodiscard]] std::vector<SizeClass> slowdown_by_size(const std::vector<const FleetJob*>& jobs,
                                                      const std::vector<double>& weights);
[[nodiscard]] std::optional<double> rank_correlation_with_size(const std::vector<const FleetJob*>& jobs);
[[nodiscard]] std::vector<CauseRecord> likely_causes(const std::vector<const FleetJob*>& jobs,
                                                     const std::vector<double>& weights);
[[nodiscard]] std::vector<const FleetJob*> jobs_by_cost(std::vector<const FleetJob*> jobs);
[[nodiscard]] std::vector<HostRecord> slow_hosts(const std::vector<const FleetJob*>& jobs);

}  // namespace goodput
