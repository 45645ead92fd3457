#include "tools/sweep/point_runner.h"

#include <fmt/format.h>

#include <utility>

#include "models/scenario/observations.h"
#include "models/scenario/trial_metrics.h"
#include "models/scenario/trial_runs.h"
#include "sim/base/tier.h"
#include "tools/cli/command_line.h"
#include "tools/simulate/scenario_options.h"
#include "tools/simulate/simulate_report.h"
#include "tools/simulate/trial_columns.h"

namespace goodput {
namespace {

std::vector<TrialRow> trial_rows_of(std::span<const TrialSummary> trials,
                                    const std::vector<TrialColumn>& columns) {
  std::vector<TrialRow> rows;
  rows.reserve(trials.size());
  for (const TrialSummary& trial : trials) {
    TrialRow row{trial.finished, trial.stopped, {}};
    row.values.reserve(columns.size());
    for (const TrialColumn& column : columns) row.values.push_back(column.of(trial));
    rows.push_back(std::move(row));
  }
  return rows;
}

// As `simulate` has them: of the metrics that all policies have, then of the policy's own.
std::vector<MetricEstimate> estimates_of(std::span<const TrialSummary> trials) {
  std::vector<MetricEstimate> estimates;
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i) {
    if (const auto estimate = estimate_of(static_cast<TrialMetric>(i), trials))
      estimates.push_back({std::string(kTrialMetrics[i].name), *estimate});
  }
  for (std::size_t i = 0; i < trials.front().metrics.size(); ++i) {
    std::vector<double> values;
    for (const TrialSummary& trial : trials) values.push_back(trial.metrics[i].value);
    estimates.push_back({trials.front().metrics[i].name, estimate_mean(values)});
  }
  return estimates;
}

// `not_reached`: of the stopping rule; empty: nothing.
PolicyRows policy_rows(const TrialRuns& runs, std::size_t policy, const std::string& not_reached) {
  PolicyRows rows;
  rows.name = runs.scenario().policies[policy].name;
  rows.refused = runs.refusal(policy);
  if (!rows.refused.empty()) return rows;
  rows.tier = to_string(lowest(runs.scenario().tier, runs.prepared(policy).tier()));
  rows.warnings = runs.prepared(policy).warnings();
  if (!not_reached.empty()) rows.warnings.push_back(not_reached);
  const std::span<const TrialSummary> trials = runs.trials(policy);
  const std::vector<TrialColumn> columns = trial_columns(own_metrics(trials));
  for (const TrialColumn& column : columns) rows.columns.push_back(column.name);
  rows.trials = trial_rows_of(trials, columns);
  rows.estimates = estimates_of(trials);
  return rows;
}

// Trials that replay the same recording from the same moment tell less than their number does.
void note_repeats(const Observations& observations, PolicyRows& rows) {
  if (!rows.refused.empty()) return;
  rows.warnings.push_back(observations.note);
  if (!observations.is_one_run()) return;
  for (MetricEstimate& one : rows.estimates) one.estimate.interval.reset();
}

Result<std::string> config_hash_of(const Scenario& scenario, const ScenarioInputs& inputs) {
  GOODPUT_TRY(const Scenario resolved_scenario, resolved(scenario));
  GOODPUT_TRY(const Provenance provenance, scenario_provenance(resolved_scenario, inputs));
  return fmt::format("{:016x}", provenance.config_hash.value_or(0));
}

}  // namespace

// The changes of a point name the plan's in front.
Result<std::int32_t> PointRunner::plan_nodes(const std::vector<config::Change>& changes) {
  std::string of_plan;
  for (const config::Change& change : changes) {
    if (change.pointer == "/plan" || change.pointer.starts_with("/plan/"))
      of_plan += fmt::format("{}={}\n", change.pointer, change.value);
  }
  if (const auto known = plan_nodes_.find(of_plan); known != plan_nodes_.end()) return known->second;
  std::vector<config::Change> all = request_.set;
  all.insert(all.end(), changes.begin(), changes.end());
  GOODPUT_TRY(const Scenario scenario, read_scenario(request_.scenario, all, library_, request_.commands));
  const std::int32_t nodes = scenario.plan_nodes();
  plan_nodes_.emplace(std::move(of_plan), nodes);
  return nodes;
}

Result<Scenario> PointRunner::scenario(std::uint64_t point) {
  std::vector<config::Change> changes = request_.set;
  GOODPUT_TRY(const std::vector<config::Change> of_point,
              request_.points.changes(
                  point, [this](const std::vector<config::Change>& so_far) { return plan_nodes(so_far); }));
  changes.insert(changes.end(), of_point.begin(), of_point.end());
  GOODPUT_TRY(Scenario scenario, read_scenario(request_.scenario, changes, library_, request_.commands));
  GOODPUT_TRY_STATUS(select_policies(request_.sweep.policies, scenario));
  if (request_.sweep.trials > 0) scenario.trials = request_.sweep.trials;
  return scenario;
}

Result<std::string> PointRunner::config_hash(const Scenario& scenario) {
  GOODPUT_TRY(const ScenarioInputs inputs, read_scenario_inputs(scenario, request_.seed, shared_));
  return config_hash_of(scenario, inputs);
}

Status PointRunner::run_scenario(const Scenario& scenario, PointRows& rows) {
  GOODPUT_TRY(const ScenarioInputs inputs, read_scenario_inputs(scenario, request_.seed, shared_));
  GOODPUT_TRY(rows.config_hash, config_hash_of(scenario, inputs));
  GOODPUT_TRY(TrialRuns runs, TrialRuns::prepare(scenario, inputs.view(), request_.seed));
  Replication replication{scenario.trials, request_.sweep.until, request_.sweep.max_trials};
  const std::int64_t wanted = replication.until ? replication.max_trials : replication.trials;
  const Observations observations = observations_of(scenario, inputs.view().failures, wanted);
  if (observations.is_one_run()) replication = {};
  GOODPUT_TRY(const std::vector<std::string> not_reached, replicate(replication, runs));
  for (std::size_t i = 0; i < runs.policies(); ++i) {
    rows.policies.push_back(policy_rows(runs, i, not_reached[i]));
    if (observations.repeats) note_repeats(observations, rows.policies.back());
  }
  return Ok{};
}

PointRows PointRunner::run(std::uint64_t point) {
  PointRows rows;
  rows.point = point;
  shared_.trim();
  const Result<Scenario> read = scenario(point);
  if (!read) {
    rows.error = read.error().message(flag_of);
    return rows;
  }
  if (const Status ran = run_scenario(*read, rows); !ran) {
    rows.error = ran.error().message(flag_of);
    rows.policies.clear();
  }
  return rows;
}

}  // namespace goodput
