// The sentence that a fleet's text and page begin with.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "tools/fleet/fleet_report.h"

namespace goodput {
namespace {

FleetJob costed_job(const std::string& name, double slowdown, std::optional<double> gpu_hours) {
  FleetJob job;
  job.name = name;
  job.slowdown = slowdown;
  job.steps = 10;
  job.gpus = 128;
  job.gpu_hours = gpu_hours;
  job.restarts = 0;
  job.discrepancy = 0.01;
  job.step_slowdown.assign(10, 1.0);
  return job;
}

std::string headline_of(const std::vector<FleetJob>& jobs) {
  return fleet_headline(study_fleet(jobs, {}));
}

TEST_CASE(
    "fleet headline: it says what stragglers cost, how many jobs lose much and which cause costs most") {
  // 1 - 1/1.25 of 1000 and 1 - 1/1.05 of 4000: 200 + 190.5 of 5000. Fixing the worker saves 1 - 1/1.2 of
  // 1000.
  std::vector<FleetJob> jobs = {costed_job("a", 1.25, 1000), costed_job("b", 1.05, 4000)};
  jobs[0].causes = {{"worker-fault", 1.2}};
  jobs[1].causes = {{"gc-pauses", 1.04}};  // saves 153.8
  CHECK(headline_of(jobs) ==
        "Stragglers cost these 2 jobs 7.8 % of their GPU-hours (390 of 5,000); 1 job loses more than 10 %; "
        "the costliest likely cause is slow workers (3.3 %, 1 job).");
  jobs[1].causes[0].gain = 1.05;  // saves 190.5
  CHECK(headline_of(jobs).ends_with("the costliest likely cause is GC pauses (3.8 %, 1 job)."));
}

TEST_CASE("fleet headline: one job, no known GPU-hours and no cause have words of their own") {
  CHECK(headline_of({costed_job("a", 1.25, 1000)}) ==
        "Stragglers cost this job 20.0 % of its GPU-hours (200 of 1,000); no likely cause was found.");
  // Waste of 20 and 0 %.
  CHECK(headline_of({costed_job("a", 1.25, {}), costed_job("b", 1, {})}) ==
        "Stragglers cost these 2 jobs 10.0 % of their time on average (their GPU-hours are unknown); 1 job "
        "loses more than 10 %; no likely cause was found.");
  CHECK(headline_of({costed_job("a", 1.25, 50), costed_job("b", 1, {})}) ==
        "Stragglers cost 20.0 % of the GPU-hours (10.0 of 50.0) of these 2 jobs (known for 1 of them); 1 "
        "job loses more than 10 %; no likely cause was found.");
  CHECK(
      headline_of({costed_job("a", 1.05, 50), costed_job("b", 1, 50)}).find("no job loses more than 10 %") !=
      std::string::npos);
}

TEST_CASE("fleet headline: without a studied job it says so") {
  CHECK(headline_of({}) == "There is no analyzed job to study.");
  FleetJob job = costed_job("a", 1.25, 100);
  job.steps = 1;
  CHECK(headline_of({job, job}) == "No job was studied: the filters left out all 2.");
}

TEST_CASE("fleet: the share of jobs that the filters keep is compared with the paper's") {
  const std::string paper =
      " The paper kept 38.2 % of the jobs (56.4 % of the GPU-hours), but it also dropped jobs that it could "
      "not analyze, which have no result here.";
  CHECK(kept_text({3, 90, 4, 100}) ==
        "The filters keep 75.0 % of the jobs (90.0 % of the GPU-hours)." + paper);
  CHECK(kept_text({1, 0, 2, 0}) == "The filters keep 50.0 % of the jobs." + paper);  // no known GPU-hours
  CHECK(kept_text({}).empty());
}

TEST_CASE("GPU-hours are written with thousands, and small ones with their first digits") {
  CHECK(gpu_hours_text(1234567.4) == "1,234,567");
  CHECK(gpu_hours_text(999) == "999");
  CHECK(gpu_hours_text(99.96) == "100");
  CHECK(gpu_hours_text(12.34) == "12.3");
  CHECK(gpu_hours_text(0.0456) == "0.046");
  CHECK(gpu_hours_text(-1234) == "-1,234");
}

TEST_CASE("a fleet's text begins with the headline and lists the jobs that waste most first") {
  const std::vector<FleetJob> jobs = {costed_job("small", 2, 10), costed_job("large", 1.25, 1000)};
  const FleetReading reading{jobs, 2, 0, {}};
  const FleetStudyOptions options;
  const FleetStudy study = study_fleet(reading.jobs, options);
  const std::string text = fleet_text({reading, study, options});
  CHECK(text.starts_with(fleet_headline(study) +
                         "\n\n2 of 2 jobs studied (2 whatif results); all jobs have the same weight\n"));
  CHECK(text.find(
            "large  1.250  20.0 %               200   128\nsmall  2.000  50.0 %               5.0   128\n") !=
        std::string::npos);
}

}  // namespace
}  // namespace goodput
