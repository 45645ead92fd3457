#include "models/scenario/simulation_statistics.h"

#include <doctest/doctest.h>

#include <vector>

namespace goodput {
namespace {

std::vector<TrialSummary> trials_of(const std::vector<double>& samples) {
  std::vector<TrialSummary> trials;
  for (const double value : samples) {
    TrialSummary trial;
    trial.finished = true;
    trial.samples = value;
    trial.wall_s = value / 2;
    trials.push_back(trial);
  }
  return trials;
}

}  // namespace

TEST_CASE("simulation statistics: a run is summed up with its buckets in seconds") {
  JobResult run;
  run.finished = true;
  run.end = SimTime{std::chrono::seconds{10}};
  run.steps = 3;
  run.samples = 12;
  run.ledger.spend(TimeBucket::kProductive, std::chrono::seconds{6}, 2);
  run.ledger.spend(TimeBucket::kInfrastructureRecovery, std::chrono::seconds{4}, 0);
  run.ledger.idle(std::chrono::seconds{4}, 1);
  run.waited = std::chrono::seconds{4};
  run.courses[static_cast<std::size_t>(Cause::kRestart)] = 2;
  run.metrics = {{"plt", 0.25}};
  const TrialSummary trial = summarize(run);
  CHECK(trial.wall_s == 10);
  CHECK(trial.goodput == 0.6);
  CHECK(trial.ettr == 1);  // of the 6 s in which there were nodes
  CHECK(trial.time_s[index(TimeBucket::kProductive)] == 6);
  CHECK(trial.node_time_s[index(TimeBucket::kProductive)] == 12);
  CHECK(trial.node_time_s[index(TimeBucket::kIdleNode)] == 4);
  const PolicyOutcome outcome = outcome_of(std::vector{trial, trial});
  CHECK(outcome.trials == 2);
  CHECK(outcome.finished == 2);
  CHECK(outcome.restarts.mean == 2);
  CHECK(outcome.jct_s->mean == 10);
  CHECK(outcome.metrics.at("plt").mean == 0.25);
  CHECK(outcome.time_s[index(TimeBucket::kInfrastructureRecovery)].mean == 4);
}

TEST_CASE("simulation statistics: a completion time only where every trial finished; others say why not") {
  std::vector<TrialSummary> trials = trials_of({10, 20, 30});
  trials[0].finished = trials[1].finished = false;
  trials[0].stopped = trials[1].stopped = "the job needs 2 nodes";
  const PolicyOutcome outcome = outcome_of(trials);
  CHECK_FALSE(outcome.jct_s);
  CHECK(outcome.finished == 1);
  CHECK(outcome.stopped == std::map<std::string, std::int64_t>{{"the job needs 2 nodes", 2}});
  CHECK(outcome.samples.mean == 20);
}

TEST_CASE("simulation statistics: ratios are those of trials that faced the same failures") {
  // 2, 2, 2: each trial's own, though the totals spread.
  const PolicyRatio ratio = ratio_of(trials_of({2, 20, 200}), trials_of({1, 10, 100}));
  CHECK(ratio.samples->mean == 2);
  CHECK(*ratio.samples->interval == std::array<double, 2>{2, 2});
  CHECK(ratio.jct_s->mean == 2);
  CHECK_FALSE(ratio_of(trials_of({1, 1}), trials_of({1, 0})).samples);
  std::vector<TrialSummary> unfinished = trials_of({1, 1});
  unfinished[1].finished = false;
  CHECK_FALSE(ratio_of(trials_of({1, 1}), unfinished).jct_s);
}

}  // namespace goodput
