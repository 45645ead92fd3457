#include "models/scenario/simulation.h"

#include <memory>
#include <utility>

#include "models/scenario/simulation_statistics.h"

namespace goodput {
namespace {

PolicyOutcome outcome_in(const TrialRuns& runs, std::size_t policy) {
  PolicyOutcome outcome;
  const std::string& refused = runs.refusal(policy);
  if (refused.empty()) {
    outcome = outcome_of(runs.trials(policy), runs.scenario().has_goal());
    outcome.warnings = runs.prepared(policy).warnings();
    outcome.tier = runs.prepared(policy).tier();
  }
  outcome.refused = refused;
  outcome.name = runs.scenario().policies[policy].name;
  outcome.policy = runs.scenario().policies[policy].policy;
  return outcome;
}

// Of every policy that runs to every later one.
std::vector<PolicyRatio> ratios_of(const TrialRuns& runs) {
  std::vector<PolicyRatio> ratios;
  for (std::size_t i = 0; i < runs.policies(); ++i) {
    for (std::size_t j = i + 1; j < runs.policies(); ++j) {
      if (runs.trials(i).empty() || runs.trials(j).empty()) continue;
      PolicyRatio ratio = ratio_of(runs.trials(i), runs.trials(j));
      ratio.name = runs.scenario().policies[i].name + "/" + runs.scenario().policies[j].name;
      ratios.push_back(std::move(ratio));
    }
  }
  return ratios;
}

}  // namespace

Simulation simulation_of(TrialRuns runs) {
  Simulation simulation;
  simulation.lowest_tier = runs.scenario().tier;
  for (std::size_t i = 0; i < runs.policies(); ++i) {
    PolicyOutcome outcome = outcome_in(runs, i);
    if (outcome.refused.empty()) simulation.lowest_tier = lowest(simulation.lowest_tier, outcome.tier);
    simulation.policies.push_back(std::move(outcome));
  }
  simulation.ratios = ratios_of(runs);
  for (std::size_t i = 0; i < runs.policies(); ++i) simulation.trials.push_back(runs.take_trials(i));
  return simulation;
}

Result<Simulation> simulate(const Scenario& scenario, const SimulationInputs& inputs,
                            const SimulationOptions& options) {
  GOODPUT_CHECK(options.trials > 0, "a simulation needs trials");
  GOODPUT_TRY(TrialRuns runs, TrialRuns::prepare(scenario, inputs, options.seed, options.first_trial));
  std::uint64_t done = 0;
  for (std::size_t i = 0; i < runs.policies(); ++i) {
    if (!runs.refusal(i).empty()) done += static_cast<std::uint64_t>(options.trials);
  }
  GOODPUT_TRY_STATUS(runs.extend(options.trials, options.jobs, [&] {
    if (options.progress) options.progress(++done);
  }));
  return simulation_of(std::move(runs));
}

void drop_intervals(Simulation& simulation) {
  for (PolicyOutcome& outcome : simulation.policies) {
    if (outcome.p_finished) outcome.p_finished->interval.reset();
    for (std::optional<Estimate>& estimate : outcome.estimates) {
      if (estimate) estimate->interval.reset();
    }
    outcome.quantiles.clear();
  }
}

Result<JobLog> record_run(const Scenario& scenario, const SimulationInputs& inputs,
                          const ScenarioPolicy& policy, std::uint64_t seed, std::uint64_t trial) {
  GOODPUT_TRY(const std::unique_ptr<PreparedPolicy> prepared, prepare_policy(scenario, policy, *inputs.job));
  JobLog log;
  GOODPUT_TRY(const JobResult result, run_policy(scenario, inputs, *prepared, seed, trial, &log));
  if (!result.policy_failure.empty()) return Error{result.policy_failure};
  return log;
}

}  // namespace goodput
