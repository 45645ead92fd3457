#include "tests/support/mutant_runner.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "models/failure/failure_models.h"
#include "models/scenario/scenario.h"
#include "models/scenario/trial_metrics.h"
#include "models/scenario/trial_runs.h"
#include "tools/cli/command_line.h"
#include "tools/commands.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput::testing {
namespace {

TrialScale scale_of(const ScenarioInputs& inputs) {
  return {inputs.job->ideal_node_seconds_per_sample(), false, false, {}};
}

// As run_policy() does it, but for what is wrong.
Result<std::vector<TrialSummary>> run_trials(const Scenario& scenario, const ScenarioInputs& inputs,
                                             const ScenarioPolicy& named, TrialRange trials,
                                             const Mutant& mutant) {
  GOODPUT_TRY(const auto prepared, prepare_policy(scenario, named, *inputs.job));
  const SimulationInputs view = inputs.view();
  std::vector<TrialSummary> summaries;
  for (std::int64_t trial = trials.first; trial < trials.first + trials.count; ++trial) {
    GOODPUT_TRY(auto failures, make_failures(scenario, view.failures, 0, static_cast<std::uint64_t>(trial)));
    failures = mutated(std::move(failures), mutant);
    const auto policy = mutated(prepared->start_run({0, static_cast<std::uint64_t>(trial)}), mutant);
    JobResult result = run_job(scenario.goal(), view.pools, *failures, *policy);
    if (mutant.result) mutant.result(result);
    summaries.push_back(summarize(result, scale_of(inputs)));
  }
  return summaries;
}

// None: a metric of another policy's own.
std::optional<double> value_in(const TrialSummary& trial, const std::string& name) {
  if (const auto metric = find_trial_metric(name)) return value_of(*metric, trial);
  for (const PolicyMetric& own : trial.metrics) {
    if (own.name == name) return own.value;
  }
  return std::nullopt;
}

RunFigure figure_of(const SuiteRun& run, const std::string& policy, const MetricRule& rule,
                    const std::vector<TrialSummary>& trials) {
  RunFigure figure{
      .name = fmt::format("{}/{}/{}", run.name, policy, rule.metric), .policy = policy, .rule = rule};
  for (const TrialSummary& trial : trials) figure.values.push_back(value_in(trial, rule.metric).value());
  return figure;
}

}  // namespace

RunProgram this_program() {
  return [](const std::vector<std::string>& arguments, std::ostream& out, std::ostream& err) {
    return run_command_line(builtin_commands(), arguments, out, err);
  };
}

Result<RunFigures> MutantRunner::run(const SuiteRun& run, TrialRange trials,
                                     std::span<const std::string> policies) const {
  if (run.command.front() != "simulate")
    return ThisProgram(this_program(), {.configs = {GOODPUT_CONFIGS}}).run(run, trials, policies);
  const config::Library library{{GOODPUT_CONFIGS}};
  GOODPUT_TRY(const Scenario scenario, read_scenario(run.command.at(1), {}, library));
  GOODPUT_TRY(const ScenarioInputs inputs, read_scenario_inputs(scenario, 0));
  RunFigures figures;
  for (const ScenarioPolicy& policy : scenario.policies) {
    if (!policies.empty() && std::find(policies.begin(), policies.end(), policy.name) == policies.end())
      continue;
    GOODPUT_TRY(const auto summaries, run_trials(scenario, inputs, policy, trials, mutant_));
    for (const MetricRule& rule : run.metrics) {
      if (value_in(summaries.front(), rule.metric))
        figures.figures.push_back(figure_of(run, policy.name, rule, summaries));
    }
  }
  return figures;
}

}  // namespace goodput::testing
