// Runs the policies of a scenario over the same failures, trial by trial, and says what they come to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/scenario/estimate.h"
#include "models/scenario/scenario.h"
#include "models/scenario/trial_metrics.h"
#include "models/scenario/trial_runs.h"
#include "sim/job/job_engine.h"
#include "sim/nodes/node_bill.h"

namespace goodput {

struct SimulationOptions {
  std::uint64_t seed = 0;
  std::int64_t trials = 1;
  std::uint64_t first_trial = 0;  // of all that the seed has
  unsigned jobs = 1;              // threads; results do not depend on it
  // After every run: how many are done, of trials x policies. One call at a time, from any thread.
  std::function<void(std::uint64_t)> progress{};
};

// Of the values of single trials.
inline constexpr std::array kQuantiles = {0.1, 0.5, 0.9, 0.95, 0.99};
inline constexpr std::array<std::string_view, 5> kQuantileNames = {"p10", "p50", "p90", "p95", "p99"};
inline constexpr std::array kQuantileMetrics = {TrialMetric::kSamples, TrialMetric::kJct,
                                                TrialMetric::kGoodput, TrialMetric::kEfficiency,
                                                TrialMetric::kCost};

// How many trials did what by the deadline.
struct DeadlineTrials {
  std::int64_t met = 0, missed = 0, unknown = 0;
};

struct PolicyOutcome {
  std::string name{};
  std::string policy{};
  std::string refused{};  // why it cannot run this job; empty: it can. Else there is nothing but names here
  std::int64_t trials = 0;
  std::int64_t finished = 0;                      // trials that reached the goal
  std::optional<Estimate> p_finished{};           // the probability of that; none without a goal
  std::optional<DeadlineTrials> deadline{};       // where there is one
  std::map<std::string, std::int64_t> stopped{};  // why others ended before their time, and how often
  std::array<std::optional<Estimate>, kTrialMetrics.size()> estimates{};  // by TrialMetric
  // Of those of kQuantileMetrics that every trial has, each at kQuantiles: of trials' own values
  // (value_of()).
  std::map<TrialMetric, std::array<Estimate, kQuantiles.size()>> quantiles{};
  std::optional<double> least_jct_s{};  // where not every trial reached the goal: the mean is above this
  std::array<Estimate, kTimeBucketCount> time_s{};       // of the job
  std::array<Estimate, kTimeBucketCount> node_time_s{};  // of the nodes
  std::vector<Estimate> cost_by_pool{};                  // USD; where the scenario has pools with prices
  std::optional<FirstSaving> first_saving{};             // of the first trial
  std::map<std::string, Estimate> metrics{};             // of the policy's own
  std::vector<std::string> warnings{};  // what does not fit, what is other than one may think
  Tier tier = Tier::kAssumed;

  // None where it has no value: no trial to speak of, not every one finished, nothing has a price.
  [[nodiscard]] const std::optional<Estimate>& estimate(TrialMetric metric) const {
    return estimates[static_cast<std::size_t>(metric)];
  }
  // REQUIRES: a value.
  [[nodiscard]] double mean(TrialMetric metric) const { return estimate(metric).value().mean; }
};

// Of the means of two policies that faced the same failures, trial by trial. None where one has no value, and
// never one of runs that finished to runs that were cut short: then samples an hour compare, and JCTs have a
// bound.
struct PolicyRatio {
  std::string name{};  // "lazarus/ds"
  std::optional<Estimate> samples{};
  std::optional<Estimate> samples_per_hour{};
  std::optional<Estimate> jct_s{};    // where every trial of both finished
  std::optional<double> jct_above{};  // where every trial of the second finished, and not of the first
  std::optional<double> jct_below{};  // the other way round
  std::optional<Estimate> cost{};     // of a sample
};

struct Simulation {
  std::vector<PolicyOutcome> policies{};            // in the order of the scenario
  std::vector<PolicyRatio> ratios{};                // of every policy that runs to every later one
  std::vector<std::vector<TrialSummary>> trials{};  // by policy; none of one that cannot run
  Tier lowest_tier = Tier::kMeasured;
};

// Of the trials that were run.
[[nodiscard]] Simulation simulation_of(TrialRuns runs);

// A policy that cannot run the job is an outcome that says why, as long as another one can. Errors: of a
// policy's options, of failures that cannot be.
Result<Simulation> simulate(const Scenario& scenario, const SimulationInputs& inputs,
                            const SimulationOptions& options);

// Of one run that stands for no others: without intervals and quantiles.
void drop_intervals(Simulation& simulation);

// One run of one policy, recorded: for timelines and curves.
Result<JobLog> record_run(const Scenario& scenario, const SimulationInputs& inputs,
                          const ScenarioPolicy& policy, std::uint64_t seed, std::uint64_t trial);

}  // namespace goodput
