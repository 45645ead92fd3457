// The study of a fleet: filters, denominators, weights, intervals.
#include "tools/fleet/fleet_study.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tools/fleet/fleet_filters.h"
#include "tools/fleet/fleet_sample.h"

namespace goodput {
namespace {

FleetJob job_of(const std::string& name, double slowdown) {
  FleetJob job;
  job.name = name;
  job.slowdown = slowdown;
  job.steps = 10;
  job.gpus = 128;
  job.gpu_hours = 100;
  job.restarts = 0;
  job.discrepancy = 0.01;
  job.step_slowdown.assign(10, 1.0);
  return job;
}

const FleetFigure& figure_of(const FleetStudy& study, std::string_view key) {
  const auto found = std::find_if(study.figures.begin(), study.figures.end(),
                                  [key](const FleetFigure& figure) { return figure.key == key; });
  REQUIRE(found != study.figures.end());
  return *found;
}
double value_of(const FleetStudy& study, std::string_view key) {
  const FleetFigure& figure = figure_of(study, key);
  REQUIRE(figure.value);
  return figure.value->mean;
}

TEST_CASE("jobs go by the first filter that they do not pass, and what is not known passes") {
  std::vector<FleetJob> jobs;
  for (int i = 0; i < 6; ++i) jobs.push_back(job_of("job", 1.2));
  jobs[0].restarts = 16;  // 15 is not too often
  jobs[0].steps = 1;      // counted once
  jobs[1].restarts = 15;
  jobs[2].steps = 4;  // 5 are enough
  jobs[3].discrepancy = 0.05;
  jobs[4].restarts.reset();
  jobs[5].discrepancy.reset();
  const FilteredFleet fleet = filter_fleet(jobs, {}, FleetWeight::kJob);
  REQUIRE(fleet.filters.size() == 3);
  CHECK(fleet.filters[0].jobs == 1);
  CHECK(fleet.filters[0].of_jobs == 6);
  CHECK(fleet.filters[0].unknown_jobs == 1);
  CHECK(fleet.filters[1].jobs == 1);
  CHECK(fleet.filters[1].of_jobs == 5);
  CHECK(fleet.filters[2].jobs == 1);
  CHECK(fleet.filters[2].unknown_jobs == 1);
  CHECK(fleet.filters[2].gpu_hours == 100);
  CHECK(fleet.filters[2].of_gpu_hours == 400);
  CHECK(fleet.studied == std::vector<const FleetJob*>{&jobs[1], &jobs[4], &jobs[5]});
  CHECK(fleet.with_discrepancy.size() == 4);
  CHECK(fleet.kept.jobs == 3);
  CHECK(fleet.kept.of_jobs == 6);
  CHECK(fleet.kept.gpu_hours == 300);
  CHECK(fleet.kept.of_gpu_hours == 600);
}

TEST_CASE("the paper's filters leave what the paper kept") {
  const std::vector<FleetJob> jobs = {job_of("job", 1.2)};
  const FilteredFleet fleet = filter_fleet(jobs, {}, FleetWeight::kJob);
  const FilterCount& restarts = fleet.filters[0];
  const FilterCount& discrepancy = fleet.filters[2];
  // 0.861 * 0.5 * 0.888 = 0.3823; by GPU-hours, with 34.1 % not analyzed, 0.927 * 0.659 * 0.923 = 0.5639.
  CHECK((1 - *restarts.paper_jobs) * (1 - KeptJobs::kPaperNotAnalyzed) * (1 - *discrepancy.paper_jobs) ==
        doctest::Approx(KeptJobs::kPaperJobs).epsilon(0.002));
  CHECK((1 - *restarts.paper_gpu_hours) * (1 - 0.341) * (1 - *discrepancy.paper_gpu_hours) ==
        doctest::Approx(KeptJobs::kPaperGpuHours).epsilon(0.002));
}

TEST_CASE("by GPU-hours, jobs of which they are not known are left out and counted") {
  std::vector<FleetJob> jobs = {job_of("a", 1.2), job_of("b", 1.0)};
  jobs[1].gpu_hours.reset();
  const FilteredFleet fleet = filter_fleet(jobs, {}, FleetWeight::kGpuHours);
  CHECK(fleet.filters[0].key == "gpu_hours");
  CHECK(fleet.filters[0].jobs == 1);
  CHECK(fleet.studied.size() == 1);
}

TEST_CASE("shares, quantiles and means are of the jobs that their denominator says") {
  // Of ten jobs S is 1.0, 1.05, 1.1 (which is slow), 1.2, 1.25 and five times 1.0.
  std::vector<FleetJob> jobs;
  for (const double slowdown : {1.0, 1.05, 1.1, 1.2, 1.25, 1.0, 1.0, 1.0, 1.0, 1.0})
    jobs.push_back(job_of("job-" + std::to_string(jobs.size()), slowdown));
  jobs[0].m_w = 0.9;  // not slow: does not count
  jobs[2].m_w = 0.5;  // not above a half
  jobs[3].m_w = 0.51;
  jobs[0].m_s = 0.7;  // no pipeline: does not count
  for (std::size_t i = 1; i < 5; ++i) jobs[i].pp_size = 4;
  jobs[1].m_s = 0.5;  // a half counts
  jobs[2].m_s = 0.1;
  jobs[3].m_s = 0.2;
  jobs[4].correlation = 0.9;
  jobs[5].correlation = 0.89;
  jobs[6].correlation = -1;
  const FleetStudy study = study_fleet(jobs, {});
  CHECK(value_of(study, "slow_jobs") == doctest::Approx(0.3));
  CHECK(figure_of(study, "slow_jobs").jobs == 10);
  CHECK(value_of(study, "slow_jobs_slowdown") == doctest::Approx((1.1 + 1.2 + 1.25) / 3));
  // The ninth of ten in order has S 1.2.
  CHECK(value_of(study, "waste_p90") == doctest::Approx(1 - 1 / 1.2));
  CHECK(value_of(study, "waste_p99") == doctest::Approx(0.2));
  CHECK(value_of(study, "m_w") == doctest::Approx(0.5));  // of two that are slow and known
  CHECK(figure_of(study, "m_w").jobs == 2);
  CHECK(value_of(study, "m_w_slowdown") == doctest::Approx(1.2));
  CHECK(value_of(study, "m_s") == doctest::Approx(1.0 / 3));
  CHECK(figure_of(study, "m_s").jobs == 3);
  CHECK(value_of(study, "m_s_slow") == doctest::Approx(0.0));
  CHECK(value_of(study, "correlation") == doctest::Approx(1.0 / 3));
  CHECK(value_of(study, "correlation_slowdown") == doctest::Approx(1.25));
  CHECK(value_of(study, "discrepancy_p50") == doctest::Approx(0.01));
}

TEST_CASE("GPU-hours weigh what is wasted, whatever else counts as one") {
  std::vector<FleetJob> jobs = {job_of("a", 2.0), job_of("b", 1.0)};
  jobs[0].gpu_hours = 300;
  // Half of 300 of 400.
  CHECK(value_of(study_fleet(jobs, {}), "gpu_hours_wasted") == doctest::Approx(0.375));
  CHECK(value_of(study_fleet(jobs, {}), "slow_jobs") == doctest::Approx(0.5));
  const FleetStudyOptions by_hours{{}, FleetWeight::kGpuHours, 0};
  CHECK(value_of(study_fleet(jobs, by_hours), "slow_jobs") == doctest::Approx(0.75));
  jobs[1].gpu_hours.reset();
  CHECK(value_of(study_fleet(jobs, {}), "gpu_hours_wasted") == doctest::Approx(0.5));
  CHECK(figure_of(study_fleet(jobs, {}), "gpu_hours_wasted").jobs == 1);
}

TEST_CASE("steps count one by one; by GPU-hours those of a job weigh as much as the job") {
  std::vector<FleetJob> jobs = {job_of("a", 1.5), job_of("b", 1.5), job_of("c", 1.0)};
  jobs[0].step_slowdown.assign(90, 1.0);
  jobs[1].step_slowdown.assign(10, 1.1);
  jobs[2].step_slowdown.assign(1000, 9.0);  // not slow
  CHECK(value_of(study_fleet(jobs, {}), "step_p90") == doctest::Approx(1.0));
  const FleetStudyOptions by_hours{{}, FleetWeight::kGpuHours, 0};
  CHECK(value_of(study_fleet(jobs, by_hours), "step_p90") == doctest::Approx(1.1));
}

TEST_CASE("a fleet without jobs has no figures") {
  const FleetStudy study = study_fleet({}, {});
  for (const FleetFigure& figure : study.figures) {
    CHECK_FALSE(figure.value);
    CHECK(figure.jobs == 0);
  }
  CHECK(study.curves.empty());
  CHECK_FALSE(study.gpu_hours);
}

TEST_CASE("op types lose what they alone cause, in the mean of the jobs that have them") {
  std::vector<FleetJob> jobs = {job_of("a", 1.5), job_of("b", 1.5)};
  jobs[0].by_optype = {{"forward-compute", 2.0}, {"gc", 1.0}};
  jobs[1].by_optype = {{"forward-compute", 1.0}};
  const std::vector<OptypeWaste> types = study_fleet(jobs, {}).optypes;
  REQUIRE(types.size() == 2);
  CHECK(types[0].optype == "forward-compute");
  CHECK(types[0].waste == doctest::Approx(0.25));
  CHECK(types[0].jobs == 2);
  CHECK(types[1].waste == doctest::Approx(0.0));
}

TEST_CASE("sizes are powers of two, and the rank correlation is Spearman's") {
  std::vector<FleetJob> jobs = {job_of("a", 1.0), job_of("b", 1.2), job_of("c", 1.1), job_of("d", 1.3)};
  jobs[0].gpus = 128;
  jobs[1].gpus = 255;
  jobs[2].gpus = 256;
  jobs[3].gpus = 300;
  const FleetStudy study = study_fleet(jobs, {});
  REQUIRE(study.sizes.size() == 2);
  CHECK(study.sizes[0].least_gpus == 128);
  CHECK(study.sizes[0].most_gpus == 255);
  CHECK(study.sizes[0].jobs == 2);
  CHECK(study.sizes[0].mean_slowdown == doctest::Approx(1.1));
  CHECK(study.sizes[1].slow_share == doctest::Approx(1.0));
  // Ranks 1 2 3 4 against 1 3 2 4: 1 - 6 x 2 / (4 x 15).
  CHECK(study.size_correlation.value() == doctest::Approx(0.8));
}

TEST_CASE("hosts that are slow in several jobs come first, with how often they ran") {
  std::vector<FleetJob> jobs = {job_of("a", 1.5), job_of("b", 1.5), job_of("c", 1.0), job_of("d", 1.5)};
  jobs[0].hosts = {"bad", "good"};
  jobs[0].slow_hosts = {{"bad", 1.4, 1.6}};
  jobs[1].hosts = {"bad", "once"};
  jobs[1].slow_hosts = {{"bad", 1.2, 1.6}, {"once", 3.0, 3.0}};
  jobs[2].hosts = {"bad"};
  const FleetStudy study = study_fleet(jobs, {});
  CHECK(study.jobs_with_hosts == 3);
  REQUIRE(study.hosts.size() == 2);
  CHECK(study.hosts[0].host == "bad");
  CHECK(study.hosts[0].slow_in == 2);
  CHECK(study.hosts[0].ran_in == 3);
  CHECK(study.hosts[0].mean_slowdown == doctest::Approx(1.3));
  CHECK(study.hosts[0].worst_slowdown == doctest::Approx(1.4));
  CHECK(study.hosts[0].jobs == std::vector<std::string>{"a", "b"});
}

TEST_CASE("a cause counts once a job, with its largest gain") {
  std::vector<FleetJob> jobs = {job_of("a", 1.5), job_of("b", 1.3)};
  jobs[0].causes = {{"worker-fault", 1.2}, {"worker-fault", 1.4}, {"launch-delay", {}}};
  jobs[1].causes = {{"worker-fault", 1.2}};
  const std::vector<CauseRecord> causes = study_fleet(jobs, {}).causes;
  REQUIRE(causes.size() == 2);
  CHECK(causes[0].cause == "worker-fault");
  CHECK(causes[0].jobs == 2);
  CHECK(causes[0].mean_slowdown == doctest::Approx(1.4));
  CHECK(causes[0].mean_gain.value() == doctest::Approx(1.3));
  // Both jobs have 100 GPU-hours, of which fixing their workers saves 1 - 1/1.4 and 1 - 1/1.2.
  CHECK(causes[0].saved_gpu_hours.value() == doctest::Approx(200 - 100 / 1.4 - 100 / 1.2));
  CHECK(causes[0].saved_share == doctest::Approx(1 - (1 / 1.4 + 1 / 1.2) / 2));
  CHECK_FALSE(causes[1].mean_gain);
  CHECK(causes[1].saved_share == 0);
  for (FleetJob& job : jobs) job.gpu_hours.reset();
  CHECK(study_fleet(jobs, {}).causes[0].saved_share == doctest::Approx(1 - (1 / 1.4 + 1 / 1.2) / 2));
  CHECK_FALSE(study_fleet(jobs, {}).causes[0].saved_gpu_hours);
}

TEST_CASE("by GPU-hours, those of a cause weigh its means, and jobs are still counted") {
  std::vector<FleetJob> jobs = {job_of("a", 1.5), job_of("b", 1.1), job_of("c", 1.1)};
  jobs[0].gpu_hours = 300;
  jobs[0].causes = {{"worker-fault", 1.4}};
  jobs[1].causes = {{"worker-fault", 1.2}};
  jobs[2].causes = {{"worker-fault", {}}};  // no part of the gains
  const FleetStudyOptions by_hours{{}, FleetWeight::kGpuHours, 0};
  const std::vector<CauseRecord> causes = study_fleet(jobs, by_hours).causes;
  REQUIRE(causes.size() == 1);
  CHECK(causes[0].jobs == 3);
  CHECK(causes[0].mean_slowdown == doctest::Approx((300 * 1.5 + 100 * 1.1 + 100 * 1.1) / 500));
  CHECK(causes[0].mean_gain.value() == doctest::Approx((300 * 1.4 + 100 * 1.2) / 400));
}

TEST_CASE("GPU-hours are over the jobs of which they are known, and the words say so") {
  CHECK(figure_of(study_fleet({job_of("a", 2.0)}, {}), "gpu_hours_wasted").over ==
        "studied jobs with known GPU-hours");
}

// Jobs of values 0 and 1 in turn, all of weight 1 but the first.
FleetSample sample_of(std::size_t jobs, double weight_of_first) {
  std::vector<SampleValue> values;
  for (std::size_t i = 0; i < jobs; ++i)
    values.push_back({static_cast<double>(i % 2), i == 0 ? weight_of_first : 1.0, i});
  return {values, 1};
}
Estimate ones_in(const FleetSample& sample) {
  return sample.share([](double value) { return value > 0.5; });
}

TEST_CASE("weighted jobs have an interval from ten effective ones on") {
  // (2 + n - 1)^2 / (4 + n - 1): of 11 jobs 144 / 14 = 10.3, of 10 121 / 13 = 9.3.
  CHECK(ones_in(sample_of(11, 2)).interval);
  CHECK(sample_of(11, 2).mean().interval);
  CHECK_FALSE(ones_in(sample_of(10, 2)).interval);
  CHECK_FALSE(sample_of(10, 2).mean().interval);
  // A hundred jobs of which one weighs as much as 99 others count as four: 198^2 / (99^2 + 99) = 3.96.
  CHECK_FALSE(ones_in(sample_of(100, 99)).interval);
  CHECK(ones_in(sample_of(100, 99)).mean == doctest::Approx(50.0 / 198));
}

TEST_CASE("a weighted quantile has an interval when so many effective jobs have it between them") {
  const auto quantile = [](std::size_t jobs) {
    std::vector<SampleValue> values;
    for (std::size_t i = 0; i < jobs; ++i) values.push_back({static_cast<double>(i), i == 0 ? 2.0 : 1.0, i});
    return FleetSample(values, 1).quantile(0.9);
  };
  // 0.9^n <= 0.05 from n = 28.4 on; (n + 1)^2 / (n + 3) of 30 is 29.1, of 29 28.1.
  CHECK(quantile(30).interval);
  CHECK_FALSE(quantile(29).interval);
}

TEST_CASE("draws that all agree are no interval") {
  std::vector<SampleValue> values;
  for (std::size_t i = 0; i < 40; ++i) values.push_back({0.2, i % 2 == 0 ? 1.0 : 2.0, i});
  const FleetSample sample(values, 1);
  CHECK(ones_in(sample).mean == 0);
  CHECK_FALSE(ones_in(sample).interval);
  CHECK_FALSE(sample.quantile(0.5).interval);
}

TEST_CASE("intervals of weighted figures hold the truth of a known distribution, and repeat") {
  // Weights 1 and 3 alike for values 0 and 1: the weighted share of ones is 1/2.
  std::vector<SampleValue> values;
  for (std::size_t i = 0; i < 400; ++i) values.push_back({i % 2 == 0 ? 1.0 : 0.0, i % 4 < 2 ? 1.0 : 3.0, i});
  const FleetSample sample(values, 5);
  const Estimate share = sample.share([](double value) { return value > 0.5; });
  CHECK(share.mean == doctest::Approx(0.5));
  REQUIRE(share.interval);
  CHECK((*share.interval)[0] < 0.5);
  CHECK((*share.interval)[1] > 0.5);
  // The effective number of jobs is 800^2 / (200 + 1800) = 320: +- 1.96 x 0.5 / sqrt(320) = 0.055.
  CHECK((*share.interval)[1] - (*share.interval)[0] == doctest::Approx(0.11).epsilon(0.15));
  CHECK(FleetSample(values, 5).mean().interval == sample.mean().interval);
}

TEST_CASE("steps of one job are no independent values") {
  std::vector<SampleValue> by_job;
  std::vector<SampleValue> alone;
  for (std::size_t i = 0; i < 400; ++i) {
    const double value = (i / 40) % 2 == 0 ? 1 : 0;
    by_job.push_back({value, 1, i / 40});
    alone.push_back({value, 1, i});
  }
  const auto width = [](const std::vector<SampleValue>& values) {
    const Estimate share = FleetSample(values, 1).share([](double value) { return value > 0.5; });
    return (*share.interval)[1] - (*share.interval)[0];
  };
  CHECK(width(by_job) > 4 * width(alone));  // ten jobs against 400: sqrt(40) = 6.3 times
}

}  // namespace
}  // namespace goodput
