#include "tools/fleet/fleet_study.h"

#include <algorithm>
#include <functional>
#include <utility>

namespace goodput {
namespace {

using Jobs = std::vector<const FleetJob*>;

constexpr std::string_view kAllStudied = "studied jobs";
constexpr std::string_view kOfKnownHours = "studied jobs with known GPU-hours";
constexpr std::string_view kSlowJobs = "studied jobs with S >= 1.1";
constexpr std::string_view kStepsOfSlowJobs = "all steps of studied jobs with S >= 1.1";
constexpr std::string_view kPipelined = "studied jobs with pipelines";
constexpr std::string_view kSlowPipelined = "studied jobs with pipelines and S >= 1.1";
constexpr std::string_view kCorrelated = "studied jobs with known correlation";

using ValueOfJob = std::function<std::optional<double>(const FleetJob&)>;

bool is_slow(const FleetJob& job) {
  return job.slowdown >= kSlowJob;
}
bool is_most(double share) {
  return share >= kMostOfLoss;
}
bool is_more_than_half(double share) {
  return share > kMostOfLoss;
}
bool is_high(double correlation) {
  return correlation >= kHighCorrelation;
}
std::optional<double> slowdown_of(const FleetJob& job) {
  return job.slowdown;
}
std::optional<double> waste_of(const FleetJob& job) {
  return job.waste();
}
std::optional<double> m_w_of(const FleetJob& job) {
  return is_slow(job) ? job.m_w : std::nullopt;
}
std::optional<double> m_s_of(const FleetJob& job) {
  return job.has_pipeline() ? job.m_s : std::nullopt;
}
std::optional<double> correlation_of(const FleetJob& job) {
  return job.correlation;
}

class StudyBuilder {
 public:
  StudyBuilder(const std::vector<FleetJob>& jobs, const FleetStudyOptions& options)
      : options_(options), study_{} {
    study_.weight = options.weight;
    study_.jobs_read = jobs.size();
    study_.fleet = filter_fleet(jobs, options.filters, options.weight);
  }

  FleetStudy run() && {
    const Jobs& jobs = study_.fleet.studied;
    add_sizes_of_loss();
    add_steps();
    add_causes();
    add_discrepancy();
    study_.optypes = waste_by_optype(jobs, weights());
    study_.sizes = slowdown_by_size(jobs, weights());
    study_.size_correlation = rank_correlation_with_size(jobs);
    study_.causes = likely_causes(jobs, weights());
    study_.by_cost = jobs_by_cost(jobs);
    study_.costly_jobs = static_cast<std::size_t>(std::count_if(
        jobs.begin(), jobs.end(), [](const FleetJob* job) { return job->waste() > kCostlyWaste; }));
    study_.hosts = slow_hosts(jobs);
    study_.jobs_with_hosts = static_cast<std::size_t>(
        std::count_if(jobs.begin(), jobs.end(), [](const FleetJob* job) { return !job->hosts.empty(); }));
    return std::move(study_);
  }

 private:
  [[nodiscard]] double weight_of(const FleetJob& job) const {
    return options_.weight == FleetWeight::kJob ? 1 : job.gpu_hours.value_or(0);
  }
  [[nodiscard]] std::vector<double> weights() const {
    std::vector<double> weights;
    for (const FleetJob* job : study_.fleet.studied) weights.push_back(weight_of(*job));
    return weights;
  }

  // Of the jobs that have the value.
  [[nodiscard]] FleetSample sample(const Jobs& jobs, const ValueOfJob& value_of) const {
    std::vector<SampleValue> values;
    for (std::size_t i = 0; i < jobs.size(); ++i) {
      if (const auto value = value_of(*jobs[i])) values.push_back({*value, weight_of(*jobs[i]), i});
    }
    return {std::move(values), options_.seed};
  }
  [[nodiscard]] FleetSample studied(const ValueOfJob& value_of) const {
    return sample(study_.fleet.studied, value_of);
  }

  using Take = std::function<Estimate(const FleetSample&)>;
  void add(FleetFigure figure, const FleetSample& sample, const Take& take) {
    figure.jobs = sample.jobs();
    if (!sample.empty()) figure.value = take(sample);
    study_.figures.push_back(figure);
  }
  static Take share_of(bool (*is_counted)(double)) {
    return [is_counted](const FleetSample& sample) { return sample.share(is_counted); };
  }
  static Take quantile_at(double probability) {
    return [probability](const FleetSample& sample) { return sample.quantile(probability); };
  }
  static Estimate mean_of(const FleetSample& sample) { return sample.mean(); }

  void add_curve(FleetCurve curve) {
    if (!curve.sample.empty()) study_.curves.push_back(std::move(curve));
  }

  void add_sizes_of_loss() {
    const FleetSample slowdowns = studied(slowdown_of);
    const FleetSample waste = studied(waste_of);
    add({"slow_jobs", "jobs with S >= 1.1", kAllStudied, FigureUnit::kShare, 0, {}, 0.425}, slowdowns,
        share_of([](double slowdown) { return slowdown >= kSlowJob; }));
    add({"waste_p90", "waste per job (1 - 1/S), P90", kAllStudied, FigureUnit::kShare, 0, {}, 0.213}, waste,
        quantile_at(0.9));
    add({"waste_p99", "waste per job (1 - 1/S), P99", kAllStudied, FigureUnit::kShare, 0, {}, 0.45}, waste,
        quantile_at(0.99));
    add_gpu_hours();
    add({"slow_jobs_slowdown", "mean S of jobs with S >= 1.1", kSlowJobs, FigureUnit::kSlowdown, 0, {}, 1.28},
        studied([](const FleetJob& job) { return is_slow(job) ? slowdown_of(job) : std::nullopt; }), mean_of);
    add_curve({"waste", "share of a job's GPU-hours that is wasted (1 - 1/S)", kAllStudied, waste,
               FigureUnit::kShare, 1 - 1 / kSlowJob});
  }

  // By GPU-hours whatever counts otherwise.
  void add_gpu_hours() {
    std::vector<SampleValue> values;
    double hours = 0;
    double wasted = 0;
    for (std::size_t i = 0; i < study_.fleet.studied.size(); ++i) {
      const FleetJob& job = *study_.fleet.studied[i];
      if (!job.has_gpu_hours()) continue;
      values.push_back({job.waste(), *job.gpu_hours, i});
      hours += *job.gpu_hours;
      wasted += *job.gpu_hours * job.waste();
    }
    if (!values.empty()) {
      study_.gpu_hours = hours;
      study_.wasted_gpu_hours = wasted;
    }
    add({"gpu_hours_wasted",
         "wasted share of all GPU-hours",
         kOfKnownHours,
         FigureUnit::kShare,
         0,
         {},
         0.104},
        FleetSample(std::move(values), options_.seed), mean_of);
  }

  // A job's steps weigh as many as they are; by GPU-hours, what the job weighs together.
  void add_steps() {
    std::vector<SampleValue> values;
    for (std::size_t i = 0; i < study_.fleet.studied.size(); ++i) {
      const FleetJob& job = *study_.fleet.studied[i];
      if (!is_slow(job)) continue;
      const double steps = static_cast<double>(job.step_slowdown.size());
      const double weight = options_.weight == FleetWeight::kJob ? 1 : weight_of(job) / steps;
      for (const double slowdown : job.step_slowdown) values.push_back({slowdown, weight, i});
    }
    const FleetSample steps(std::move(values), options_.seed);
    add({"step_p50",
         "slowdown of a step divided by S of its job, P50",
         kStepsOfSlowJobs,
         FigureUnit::kSlowdown,
         0,
         {},
         1.0},
        steps, quantile_at(0.5));
    add({"step_p90",
         "slowdown of a step divided by S of its job, P90",
         kStepsOfSlowJobs,
         FigureUnit::kSlowdown,
         0,
         {},
         1.06},
        steps, quantile_at(0.9));
    add_curve({"steps",
               "slowdown of a step divided by S of its job",
               kStepsOfSlowJobs,
               steps,
               FigureUnit::kSlowdown,
               {}});
  }

  void add_causes() {
    const FleetSample m_w = studied(m_w_of);
    const FleetSample m_s = studied(m_s_of);
    const FleetSample correlations = studied(correlation_of);
    add({"m_w", "jobs with M_W > 0.5 (slowest workers)", kSlowJobs, FigureUnit::kShare, 0, {}, 0.017}, m_w,
        share_of(is_more_than_half));
    add({"m_w_slowdown",
         "mean S of jobs with M_W > 0.5",
         "studied jobs with M_W > 0.5",
         FigureUnit::kSlowdown,
         0,
         {},
         3.04},
        studied([](const FleetJob& job) {
          const auto share = m_w_of(job);
          return share && is_more_than_half(*share) ? slowdown_of(job) : std::nullopt;
        }),
        mean_of);
    add({"m_s", "jobs with M_S >= 0.5 (last stage)", kPipelined, FigureUnit::kShare, 0, {}, 0.393}, m_s,
        share_of(is_most));
    add({"m_s_slow",
         "jobs with M_S >= 0.5, among those with S >= 1.1",
         kSlowPipelined,
         FigureUnit::kShare,
         0,
         {},
         {}},
        studied([](const FleetJob& job) { return is_slow(job) ? m_s_of(job) : std::nullopt; }),
        share_of(is_most));
    add({"correlation",
         "jobs with correlation >= 0.9 (sequence lengths)",
         kCorrelated,
         FigureUnit::kShare,
         0,
         {},
         0.214},
        correlations, share_of(is_high));
    add({"correlation_slowdown",
         "mean S of jobs with correlation >= 0.9",
         "studied jobs with correlation >= 0.9",
         FigureUnit::kSlowdown,
         0,
         {},
         1.34},
        studied([](const FleetJob& job) {
          return job.correlation && is_high(*job.correlation) ? slowdown_of(job) : std::nullopt;
        }),
        mean_of);
    add_curve({"m_w", "M_W: share of the loss explained by the slowest 3 % of workers", kSlowJobs, m_w,
               FigureUnit::kShare, kMostOfLoss});
    add_curve({"m_s", "M_S: share of the loss explained by the last stage", kPipelined, m_s,
               FigureUnit::kShare, kMostOfLoss});
    add_curve({"correlation", "correlation of forward and backward passes", kCorrelated, correlations,
               FigureUnit::kCorrelation, kHighCorrelation});
  }

  void add_discrepancy() {
    const FleetSample discrepancies =
        sample(study_.fleet.with_discrepancy, [](const FleetJob& job) { return job.discrepancy; });
    constexpr std::string_view kOver = "jobs kept by the other filters";
    add({"discrepancy_p50", "replay error, P50", kOver, FigureUnit::kShare, 0, {}, 0.013}, discrepancies,
        quantile_at(0.5));
    add({"discrepancy_p90", "replay error, P90", kOver, FigureUnit::kShare, 0, {}, 0.055}, discrepancies,
        quantile_at(0.9));
  }

  const FleetStudyOptions& options_;
  FleetStudy study_;
};

}  // namespace

FleetStudy study_fleet(const std::vector<FleetJob>& jobs, const FleetStudyOptions& options) {
  return StudyBuilder(jobs, options).run();
}

}  // namespace goodput
