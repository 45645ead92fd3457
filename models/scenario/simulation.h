// Runs the policies of a scenario over the same failures, trial by trial, and says what they come to.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "models/scenario/estimate.h"
#include "models/scenario/scenario.h"
#include "sim/job/job_engine.h"
#include "sim/nodes/price_schedule.h"

namespace goodput {

// What a scenario's files hold. Outlives the runs.
struct SimulationInputs {
  const JobModel* job = nullptr;
  FailureSources failures{};
  PriceSchedule prices{};
};

struct SimulationOptions {
  std::uint64_t seed = 0;
  std::int64_t trials = 1;
  unsigned jobs = 1;                              // threads; results do not depend on it
  std::function<void(std::uint64_t)> progress{};  // runs done so far, of trials x policies; from one thread
};

struct PolicyOutcome {
  std::string name{};
  std::string policy{};
  std::int64_t trials = 0;
  std::int64_t finished = 0;                      // trials that reached the goal
  std::map<std::string, std::int64_t> stopped{};  // why others ended before their time, and how often
  Estimate steps{}, samples{}, wall_s{}, goodput{}, ettr{}, cost_usd{};
  std::optional<Estimate> jct_s{};  // where every trial finished
  Estimate reconfigurations{}, restarts{}, scale_ups{}, rebalancings{}, nodes_lost{}, steps_lost{};
  std::array<Estimate, kTimeBucketCount> time_s{};       // of the job
  std::array<Estimate, kTimeBucketCount> node_time_s{};  // of the nodes
  std::map<std::string, Estimate> metrics{};             // of the policy's own
  std::vector<std::string> warnings{};                   // what does not fit
  Tier tier = Tier::kAssumed;
};

// Of two policies, trial by trial, because both faced the same failures. A ratio of nothing has no value.
struct PolicyRatio {
  std::string name{};  // "lazarus/ds"
  std::optional<Estimate> samples{};
  std::optional<Estimate> jct_s{};  // where every trial of both finished
};

struct Simulation {
  std::vector<PolicyOutcome> policies{};  // in the order of the scenario
  std::vector<PolicyRatio> ratios{};      // of every policy to every later one
  Tier lowest_tier = Tier::kMeasured;
};

// Errors: of a policy's options, of failures that cannot be.
Result<Simulation> simulate(const Scenario& scenario, const SimulationInputs& inputs,
                            const SimulationOptions& options);

// One run of one policy, recorded: for timelines and curves.
Result<JobLog> record_run(const Scenario& scenario, const SimulationInputs& inputs,
                          const ScenarioPolicy& policy, std::uint64_t seed, std::uint64_t trial);

}  // namespace goodput
