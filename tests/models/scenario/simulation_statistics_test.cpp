#include "models/scenario/simulation_statistics.h"

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
#include <vector>

namespace goodput {
namespace {

// Of one goal: who trains twice as much takes twice as long.
TrialSummary done(double samples, double wall_s) {
  TrialSummary trial;
  trial.finished = true;
  trial.samples = samples;
  trial.wall_s = wall_s;
  trial.horizon_s = wall_s;
  return trial;
}
TrialSummary cut(double samples, double at_s) {
  TrialSummary trial = done(samples, at_s);
  trial.finished = false;
  return trial;
}
// For good, in a run that would have gone on to `end_s`.
TrialSummary stopped(double samples, double at_s, std::optional<double> end_s) {
  TrialSummary trial = cut(samples, at_s);
  trial.stopped = "the job needs 2 nodes";
  trial.horizon_s = end_s;
  return trial;
}

using Trials = std::vector<TrialSummary>;

double mean(const std::optional<Estimate>& estimate) {
  REQUIRE(estimate);
  return estimate->mean;
}

}  // namespace

TEST_CASE("simulation statistics: a run is summed up with its buckets in seconds") {
  JobResult run;
  run.finished = true;
  run.end = SimTime{std::chrono::seconds{10}};
  run.horizon = run.end;
  run.steps = 3;
  run.samples = 12;
  run.ledger.spend(TimeBucket::kProductive, std::chrono::seconds{6}, 2);
  run.ledger.spend(TimeBucket::kInfrastructureRecovery, std::chrono::seconds{4}, 0);
  run.ledger.idle(std::chrono::seconds{4}, 1);
  run.waited = std::chrono::seconds{4};
  run.courses[static_cast<std::size_t>(Cause::kRestart)] = 2;
  run.metrics = {{"plt", 0.25}};
  run.cost_usd = 3;
  const TrialSummary trial = summarize(run, {.ideal_node_s_per_sample = 0.5, .has_price = true});
  CHECK(trial.wall_s == 10);
  CHECK(trial.time_s[index(TimeBucket::kProductive)] == 6);
  CHECK(trial.node_time_s[index(TimeBucket::kProductive)] == 12);
  CHECK(trial.node_time_s[index(TimeBucket::kIdleNode)] == 4);
  const PolicyOutcome outcome = outcome_of(Trials{trial, trial}, true);
  CHECK(outcome.trials == 2);
  CHECK(outcome.finished == 2);
  CHECK(outcome.mean(TrialMetric::kRestarts) == 2);
  CHECK(outcome.mean(TrialMetric::kJct) == 10);
  CHECK(outcome.mean(TrialMetric::kSamplesPerHour) == 12 * 360);
  CHECK(outcome.mean(TrialMetric::kGoodput) == 0.6);
  CHECK(outcome.mean(TrialMetric::kEttr) == 0.6);
  CHECK(outcome.mean(TrialMetric::kRunningGoodput) == 1);     // of the 6 s in which there were nodes
  CHECK(outcome.mean(TrialMetric::kEfficiency) == 6.0 / 16);  // 12 samples of half a node-second each
  CHECK(outcome.mean(TrialMetric::kSamplesPerUsd) == 4);
  CHECK(outcome.metrics.at("plt").mean == 0.25);
  CHECK(outcome.time_s[index(TimeBucket::kInfrastructureRecovery)].mean == 4);
}

TEST_CASE("simulation statistics: goodput is that of the times beside it, not a mean of ratios") {
  // 1 s of 1 s and 0 s of 3 s productive: a quarter of the time, though single trials have 1 and 0.
  TrialSummary quick = done(1, 1);
  quick.time_s[index(TimeBucket::kProductive)] = 1;
  const PolicyOutcome outcome = outcome_of(Trials{quick, done(1, 3)}, true);
  CHECK(outcome.mean(TrialMetric::kGoodput) == 0.25);
  CHECK(outcome.mean(TrialMetric::kGoodput) ==
        outcome.time_s[index(TimeBucket::kProductive)].mean / outcome.mean(TrialMetric::kWall));
}

TEST_CASE("simulation statistics: a run of no time and no nodes has a goodput of 0") {
  const PolicyOutcome outcome = outcome_of(Trials{stopped(0, 0, 100)}, true);
  CHECK(outcome.mean(TrialMetric::kGoodput) == 0);
  CHECK(outcome.mean(TrialMetric::kEfficiency) == 0);
  CHECK(outcome.mean(TrialMetric::kSamplesPerHour) == 0);
}

TEST_CASE("simulation statistics: a completion time only where every trial finished; others have a bound") {
  const PolicyOutcome outcome =
      outcome_of(Trials{stopped(10, 5, 40), stopped(20, 10, 40), done(30, 15)}, true);
  CHECK_FALSE(outcome.estimate(TrialMetric::kJct));
  CHECK(*outcome.least_jct_s == (40 + 40 + 15) / 3.0);
  CHECK(outcome.finished == 1);
  CHECK(mean(outcome.p_finished) == 1.0 / 3);
  CHECK_FALSE(outcome_of(Trials{cut(1, 9)}, false).p_finished);
  CHECK_FALSE(outcome_of(Trials{cut(1, 9)}, false).least_jct_s);
  CHECK(outcome.stopped == std::map<std::string, std::int64_t>{{"the job needs 2 nodes", 2}});
  CHECK(outcome.mean(TrialMetric::kSamples) == 20);
  // Nobody knows when the run would have ended.
  const PolicyOutcome open = outcome_of(Trials{stopped(10, 5, std::nullopt), done(30, 15)}, true);
  CHECK_FALSE(open.least_jct_s);
  CHECK_FALSE(open.estimate(TrialMetric::kSamplesPerHour));
}

namespace {

DeadlineOutcome outcome_by(const JobResult& run, int deadline_s) {
  return summarize(run, {.deadline = SimTime{std::chrono::seconds{deadline_s}}}).deadline;
}
JobResult ended(int at_s, bool finished, std::optional<int> horizon_s) {
  JobResult run;
  run.end = SimTime{std::chrono::seconds{at_s}};
  run.finished = finished;
  if (horizon_s) run.horizon = SimTime{std::chrono::seconds{*horizon_s}};
  return run;
}
TrialSummary with(DeadlineOutcome deadline) {
  TrialSummary trial = done(1, 1);
  trial.deadline = deadline;
  return trial;
}

}  // namespace

TEST_CASE("simulation statistics: a deadline is met, missed, or nobody knows") {
  const JobResult done_at_10 = ended(10, true, 10);
  CHECK(outcome_by(done_at_10, 11) == DeadlineOutcome::kMet);
  CHECK(outcome_by(done_at_10, 10) == DeadlineOutcome::kMet);  // at that very moment
  CHECK(outcome_by(done_at_10, 9) == DeadlineOutcome::kMissed);
  CHECK(summarize(done_at_10, {}).deadline == DeadlineOutcome::kNone);
  // The run ended at 10 s, not done: it could have been a second later, not before.
  const JobResult cut_at_10 = ended(10, false, 10);
  CHECK(outcome_by(cut_at_10, 9) == DeadlineOutcome::kMissed);
  CHECK(outcome_by(cut_at_10, 10) == DeadlineOutcome::kMissed);
  CHECK(outcome_by(cut_at_10, 11) == DeadlineOutcome::kUnknown);
  // It gave up at 10 s of 40, or of all time.
  CHECK(outcome_by(ended(10, false, 40), 50) == DeadlineOutcome::kMissed);
  CHECK(outcome_by(ended(10, false, std::nullopt), 50) == DeadlineOutcome::kMissed);
}

TEST_CASE("simulation statistics: three of four trials in time, with the interval of Clopper and Pearson") {
  const TrialSummary met = with(DeadlineOutcome::kMet);
  const TrialSummary missed = with(DeadlineOutcome::kMissed);
  const PolicyOutcome outcome = outcome_of(Trials{met, missed, met, met}, true);
  const std::optional<Estimate>& share = outcome.estimate(TrialMetric::kDeadline);
  CHECK(mean(share) == 0.75);
  CHECK(outcome.deadline->met == 3);
  CHECK(outcome.deadline->missed == 1);
  CHECK(outcome.deadline->unknown == 0);
  // Where three hits or more of four, and three or fewer, have a probability of 2.5 % each:
  // 4 p^3 (1 - p) + p^4, and 1 - p^4.
  const auto [low, high] = share->interval.value();
  CHECK(4 * std::pow(low, 3) * (1 - low) + std::pow(low, 4) == doctest::Approx(0.025).epsilon(1e-9));
  CHECK(high == doctest::Approx(std::pow(0.975, 0.25)).epsilon(1e-9));
  // Of all of them: p^4 = 2.5 %.
  const PolicyOutcome all = outcome_of(Trials{met, met, met, met}, true);
  CHECK(mean(all.estimate(TrialMetric::kDeadline)) == 1);
  CHECK((*all.estimate(TrialMetric::kDeadline)->interval)[0] ==
        doctest::Approx(std::pow(0.025, 0.25)).epsilon(1e-9));
  CHECK((*all.estimate(TrialMetric::kDeadline)->interval)[1] == 1);
}

TEST_CASE("simulation statistics: where nobody knows of a trial there is no probability, but a count") {
  const PolicyOutcome outcome = outcome_of(
      Trials{with(DeadlineOutcome::kMet), with(DeadlineOutcome::kUnknown), with(DeadlineOutcome::kMissed)},
      true);
  CHECK_FALSE(outcome.estimate(TrialMetric::kDeadline));
  CHECK(outcome.deadline->met == 1);
  CHECK(outcome.deadline->missed == 1);
  CHECK(outcome.deadline->unknown == 1);
  CHECK_FALSE(outcome_of(Trials{done(1, 1)}, true).deadline);
}

TEST_CASE("simulation statistics: quantiles of a ratio are of each trial's own") {
  Trials trials;
  for (int i = 1; i <= 5; ++i) {
    trials.push_back(done(1, 10 * i));
    trials.back().time_s[index(TimeBucket::kProductive)] = i * i;  // goodput i / 10
  }
  const PolicyOutcome outcome = outcome_of(trials, true);
  // p of type 7: at 4 p of the way from the first to the fifth.
  const auto& goodput = outcome.quantiles.at(TrialMetric::kGoodput);
  for (std::size_t i = 0; i < kQuantiles.size(); ++i)
    CHECK(goodput[i].mean == doctest::Approx(0.1 + 0.4 * kQuantiles[i]).epsilon(1e-12));
  CHECK(outcome.mean(TrialMetric::kGoodput) == 55.0 / 150);
}

TEST_CASE(
    "simulation statistics: a quantile has an interval from the first number of trials that bounds it") {
  // Some trial lies on either side with 1 - p^n - (1 - p)^n: 95 % from 59 trials on for p95, from 299 for
  // p99.
  const auto has_interval = [](int count, std::size_t quantile) {
    Trials trials;
    for (int i = 0; i < count; ++i) trials.push_back(done(i, 1));
    return outcome_of(trials, true).quantiles.at(TrialMetric::kSamples)[quantile].interval.has_value();
  };
  CHECK_FALSE(has_interval(58, 3));
  CHECK(has_interval(59, 3));
  CHECK_FALSE(has_interval(298, 4));
  CHECK(has_interval(299, 4));
}

TEST_CASE("simulation statistics: quantiles are of single trials, where all have the value") {
  Trials trials;
  for (int i = 1; i <= 11; ++i) trials.push_back(done(10 * i, i));
  const PolicyOutcome outcome = outcome_of(trials, true);
  const auto& jct = outcome.quantiles.at(TrialMetric::kJct);
  CHECK(jct[0].mean == 2);  // 11 values: the second, the sixth, the tenth
  CHECK(jct[1].mean == 6);
  CHECK(jct[2].mean == 10);
  CHECK(outcome.quantiles.at(TrialMetric::kSamples)[1].mean == 60);
  CHECK_FALSE(outcome.quantiles.contains(TrialMetric::kCost));
  trials.back().finished = false;
  CHECK_FALSE(outcome_of(trials, true).quantiles.contains(TrialMetric::kJct));
}

TEST_CASE("simulation statistics: a ratio is that of the means, as in the table above it") {
  // Each trial's own: 4, 1; the means: 5 to 3.5.
  const PolicyRatio ratio = ratio_of(Trials{cut(4, 9), cut(6, 9)}, Trials{cut(1, 9), cut(6, 9)});
  CHECK(mean(ratio.samples) == doctest::Approx(5 / 3.5));
  CHECK(mean(ratio.samples_per_hour) == doctest::Approx(5 / 3.5));
  // Proportional trial by trial: nothing is left to chance.
  const PolicyRatio sure =
      ratio_of(Trials{cut(2, 9), cut(20, 9), cut(200, 9)}, Trials{cut(1, 9), cut(10, 9), cut(100, 9)});
  CHECK(mean(sure.samples) == 2);
  CHECK((*sure.samples->interval)[0] == doctest::Approx(2));
  CHECK((*sure.samples->interval)[1] == doctest::Approx(2));
  CHECK_FALSE(ratio_of(Trials{cut(1, 9)}, Trials{cut(0, 9)}).samples);
}

TEST_CASE("simulation statistics: who finished and who was cut short compare by the hour, and by a bound") {
  // 100 samples in 15 h, against 69 in 48 h: 4.64 times as many an hour, and 3.2 times the time at least.
  const Trials fast = {done(100, 15), done(100, 15)};
  const Trials slow = {cut(69, 48), cut(69, 48)};
  const PolicyRatio ahead = ratio_of(fast, slow);
  CHECK_FALSE(ahead.samples);
  CHECK_FALSE(ahead.jct_s);
  CHECK(mean(ahead.samples_per_hour) == doctest::Approx(100.0 / 15 / (69.0 / 48)));
  CHECK(*ahead.jct_below == 15.0 / 48);
  CHECK_FALSE(ahead.jct_above);
  const PolicyRatio behind = ratio_of(slow, fast);
  CHECK(*behind.jct_above == 3.2);
  CHECK_FALSE(behind.jct_below);
  // Some of both were cut short: nothing bounds their ratio.
  const Trials some = {done(100, 30), cut(80, 48)};
  const PolicyRatio open = ratio_of(some, slow);
  CHECK_FALSE(open.samples);
  CHECK_FALSE(open.jct_above);
  CHECK_FALSE(open.jct_below);
  CHECK(ratio_of(some, fast).jct_above == doctest::Approx(39.0 / 15));
}

TEST_CASE("simulation statistics: a job that stopped for good has trained nothing in the rest of its time") {
  const PolicyRatio ratio = ratio_of(Trials{stopped(50, 1, 48)}, Trials{cut(100, 48)});
  CHECK(mean(ratio.samples) == 0.5);
  CHECK(mean(ratio.samples_per_hour) == 0.5);
}

TEST_CASE("simulation statistics: what is cheaper has a lower cost of a sample") {
  TrialSummary dear = cut(10, 9);
  dear.cost_usd = 30;
  TrialSummary cheap = cut(20, 9);
  cheap.cost_usd = 20;
  CHECK(mean(ratio_of(Trials{cheap}, Trials{dear}).cost) == doctest::Approx(1.0 / 3));
  CHECK_FALSE(ratio_of(Trials{cut(1, 9)}, Trials{dear}).cost);
}

}  // namespace goodput
