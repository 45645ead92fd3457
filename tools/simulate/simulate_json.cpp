#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sim/base/hash.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "sim/job/time_bucket.h"
#include "tools/cli/config_files.h"
#include "tools/cli/key_notes.h"
#include "tools/plan_step/plan_provenance.h"
#include "tools/simulate/checkpoint_interval.h"
#include "tools/simulate/recorded_trial.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

// A mean, and in `intervals` what is known of it.
void add_estimate(std::string_view name, const std::optional<Estimate>& estimate, OrderedJson& into,
                  OrderedJson& intervals) {
  into[std::string(name)] = or_null(estimate ? std::optional(estimate->mean) : std::nullopt);
  if (estimate && estimate->interval) intervals[std::string(name)] = *estimate->interval;
}

OrderedJson buckets_json(const std::array<Estimate, kTimeBucketCount>& times) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) json[std::string(kTimeBuckets[i].name)] = times[i].mean;
  return json;
}

// The reason that came up most; of equal ones the first by name.
OrderedJson main_reason(const PolicyOutcome& outcome) {
  if (outcome.stopped.empty()) return nullptr;
  return std::max_element(outcome.stopped.begin(), outcome.stopped.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

OrderedJson doubtful_json(const PolicyOutcome& outcome) {
  OrderedJson names = OrderedJson::array();
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i) {
    if (outcome.estimates[i] && outcome.estimates[i]->is_doubtful) names.push_back(kTrialMetrics[i].name);
  }
  return names;
}

std::optional<double> samples_per_step(const PolicyOutcome& outcome) {
  const auto& steps = outcome.estimate(TrialMetric::kSteps);
  if (!steps || steps->mean == 0) return std::nullopt;
  return outcome.mean(TrialMetric::kSamples) / steps->mean;
}

OrderedJson quantiles_json(const PolicyOutcome& outcome) {
  OrderedJson json = OrderedJson::object();
  for (const auto& [metric, quantiles] : outcome.quantiles) {
    OrderedJson of_metric = OrderedJson::object();
    for (std::size_t i = 0; i < quantiles.size(); ++i) {
      const Estimate& quantile = quantiles[i];
      of_metric[std::string(kQuantileNames[i])] = {
          {"value", quantile.mean},
          {"ci", quantile.interval ? OrderedJson(*quantile.interval) : OrderedJson(nullptr)}};
    }
    json[std::string(info(metric).name)] = std::move(of_metric);
  }
  return json;
}

OrderedJson cost_by_pool_json(const Scenario& scenario, const PolicyOutcome& outcome) {
  OrderedJson json = OrderedJson::object();
  for (std::size_t i = 0; i < outcome.cost_by_pool.size(); ++i)
    json[scenario.pools[i].name] = outcome.cost_by_pool[i].mean;
  return json;
}

OrderedJson deadline_json(const std::optional<DeadlineTrials>& trials) {
  if (!trials) return nullptr;
  return {{"met", trials->met}, {"missed", trials->missed}, {"unknown", trials->unknown}};
}

std::optional<double> tokens_of(const PolicyOutcome& outcome, const Scenario& scenario) {
  const auto& samples = outcome.estimate(TrialMetric::kSamples);
  if (!samples) return std::nullopt;
  return samples->mean * static_cast<double>(scenario.plan.parallel.sequence_length);
}

OrderedJson outcome_json(const PolicyOutcome& outcome, const Scenario& scenario) {
  const bool runs = outcome.refused.empty();
  OrderedJson json = {{"policy", outcome.policy}};
  OrderedJson intervals = OrderedJson::object();
  json["refused"] = runs ? OrderedJson(nullptr) : OrderedJson(outcome.refused);
  for (std::size_t i = 0; i < kTrialMetrics.size(); ++i)
    add_estimate(kTrialMetrics[i].name, outcome.estimates[i], json, intervals);
  json["samples_per_step"] = or_null(samples_per_step(outcome));
  json["tokens"] = or_null(tokens_of(outcome, scenario));
  json["jct_above_s"] = or_null(outcome.least_jct_s);
  json["time_s"] = runs ? buckets_json(outcome.time_s) : OrderedJson(nullptr);
  json["node_time_s"] = runs ? buckets_json(outcome.node_time_s) : OrderedJson(nullptr);
  json["trials"] = outcome.trials;
  json["finished"] = outcome.finished;
  add_estimate("p_finished", outcome.p_finished, json, intervals);
  json["deadline_trials"] = deadline_json(outcome.deadline);
  json["stopped"] = main_reason(outcome);
  json["stopped_trials"] = outcome.stopped.empty() ? OrderedJson::object() : OrderedJson(outcome.stopped);
  json["warnings"] = outcome.warnings;
  json["lowest_tier"] = runs ? OrderedJson(to_string(outcome.tier)) : OrderedJson(nullptr);
  OrderedJson metrics = OrderedJson::object();
  for (const auto& [name, estimate] : outcome.metrics) add_estimate(name, estimate, metrics, intervals);
  json["metrics"] = std::move(metrics);
  json["ci"] = std::move(intervals);
  json["doubtful"] = doubtful_json(outcome);
  json["quantiles"] = quantiles_json(outcome);
  return json;
}

// How the first trial went, and how all scatter; null of a policy that cannot run.
void add_trials_json(const SimulateReport& report, std::size_t policy, OrderedJson& json) {
  json["recorded_trial"] = nullptr;
  json["distribution"] = nullptr;
  const std::vector<TrialSummary>& trials = report.simulation.trials[policy];
  if (!trials.empty()) json["distribution"] = distribution_json(trials);
  if (report.recorded == nullptr) return;
  for (const RecordedRun& run : *report.recorded) {
    if (run.policy == report.simulation.policies[policy].name)
      json["recorded_trial"] = recorded_trial_json(run);
  }
}

OrderedJson ratio_json(const PolicyRatio& ratio) {
  OrderedJson json = OrderedJson::object();
  OrderedJson intervals = OrderedJson::object();
  OrderedJson doubtful = OrderedJson::array();
  const auto add = [&](std::string_view name, const std::optional<Estimate>& estimate) {
    add_estimate(name, estimate, json, intervals);
    if (estimate && estimate->is_doubtful) doubtful.push_back(name);
  };
  add("samples", ratio.samples);
  add("samples_per_hour", ratio.samples_per_hour);
  add("jct_s", ratio.jct_s);
  json["jct_s_above"] = or_null(ratio.jct_above);
  json["jct_s_below"] = or_null(ratio.jct_below);
  add("cost_per_sample", ratio.cost);
  json["ci"] = std::move(intervals);
  json["doubtful"] = std::move(doubtful);
  return json;
}

OrderedJson comparison_json(const PolicyComparison& comparison) {
  OrderedJson json = {{"a", comparison.a}, {"b", comparison.b}, {"metric", info(comparison.metric).name}};
  const std::optional<PairedComparison>& values = comparison.values;
  const auto mean = [&](Estimate PairedComparison::*of) {
    return or_null(values ? std::optional(((*values).*of).mean) : std::nullopt);
  };
  json["a_mean"] = mean(&PairedComparison::a);
  json["b_mean"] = mean(&PairedComparison::b);
  json["difference"] = mean(&PairedComparison::difference);
  const bool has_interval = values && values->difference.interval;
  json["ci"] = has_interval ? OrderedJson(*values->difference.interval) : OrderedJson(nullptr);
  json["doubtful"] = values && values->difference.is_doubtful;
  json["decides"] = values && values->decides;
  json["better"] = comparison.better().empty() ? OrderedJson(nullptr) : OrderedJson(comparison.better());
  const bool has_more = values && values->more_trials;
  json["more_trials"] = has_more ? OrderedJson(*values->more_trials) : OrderedJson(nullptr);
  json["why_not"] = comparison.why_not.empty() ? OrderedJson(nullptr) : OrderedJson(comparison.why_not);
  return json;
}

OrderedJson batch_json(const Scenario& scenario) {
  const StepBatch batch(scenario.plan.parallel, scenario.batch);
  const bool is_fixed = scenario.batch == BatchRule::kFixed;
  return {{"rule", kBatchRuleNames[static_cast<std::size_t>(scenario.batch)]},
          {is_fixed ? "samples_per_step" : "samples_per_replica", batch.samples(1)}};
}

OrderedJson recordings_json(const Observations& observations) {
  if (observations.note.empty()) return nullptr;
  return {{"one_run", observations.is_one_run()}, {"note", observations.note}};
}

OrderedJson files_json(const std::vector<ScenarioFile>& files) {
  OrderedJson json = OrderedJson::array();
  for (const ScenarioFile& file : files) {
    json.push_back({{"pointer", file.pointer},
                    {"file", file.named},
                    {"used", file.used},
                    {"fallback", file.is_fallback()}});
  }
  return json;
}

// Where files lie moves no number; what is in them is hashed by itself.
OrderedJson without_paths(Scenario scenario) {
  scenario.plan.calibration.clear();
  for (const auto& failures : all_failures(scenario)) failures.config->setup().clear_paths();
  OrderedJson written = config::write(config_fields(scenario));
  // Later than the others: which keys are written depends on whether there are such files.
  if (scenario.routing) {
    written["routing"].erase("file");
    written["routing"].erase("model");
  }
  return written;
}

}  // namespace

Result<Scenario> resolved(Scenario scenario) {
  for (ScenarioPolicy& policy : scenario.policies) {
    GOODPUT_TRY(const std::unique_ptr<PolicySetup> setup, make_policy(scenario, policy));
    policy.options = config::write(setup->fields(policy_context(scenario))).dump();
  }
  return scenario;
}

Result<std::vector<config::Source>> scenario_sources(const Scenario& scenario, const ScenarioInputs& inputs) {
  std::vector<config::Source> sources = scenario.sources;
  GOODPUT_TRY(const std::vector<config::Source> of_plan, plan_sources(scenario.plan));
  sources.insert(sources.end(), of_plan.begin(), of_plan.end());
  for (const auto& failures : all_failures(scenario)) {
    if (failures.config->preset()) sources.push_back(failures.config->preset()->source);
  }
  if (inputs.routing_model) sources.push_back(*inputs.routing_model);
  return sources;
}

Result<Provenance> scenario_provenance(const Scenario& resolved, const ScenarioInputs& inputs) {
  GOODPUT_TRY(Provenance provenance, plan_provenance(resolved.plan, Granularity::kLayers, resolved.tier));
  GOODPUT_TRY(const std::vector<config::Source> sources, scenario_sources(resolved, inputs));
  provenance.config_files = files_of(sources);
  Hash hash;
  hash.add(*provenance.config_hash);
  hash.add(without_paths(resolved).dump());
  for (const ScenarioPolicy& policy : resolved.policies) {
    if (!policy.command) continue;
    hash.add(policy.name);
    hash.add(policy.command->command);
  }
  hash.add(inputs.content_hash);
  provenance.config_hash = hash.value();
  return provenance;
}

void add_simulate_json(const SimulateReport& report, OrderedJson& json) {
  json["batch"] = batch_json(report.scenario);
  json["policies"] = OrderedJson::object();
  for (std::size_t i = 0; i < report.simulation.policies.size(); ++i) {
    const PolicyOutcome& outcome = report.simulation.policies[i];
    OrderedJson& of_policy = json["policies"][outcome.name] = outcome_json(outcome, report.scenario);
    if (report.scenario.policies[i].command)
      of_policy["command"] = report.scenario.policies[i].command->command;
    of_policy["checkpoint"] = checkpoint_interval_json(checkpoint_interval(report, i));
    if (!report.scenario.pools.empty())
      of_policy["cost_by_pool"] = cost_by_pool_json(report.scenario, outcome);
    add_trials_json(report, i, of_policy);
  }
  json["ratios"] = OrderedJson::object();
  for (const PolicyRatio& ratio : report.simulation.ratios) json["ratios"][ratio.name] = ratio_json(ratio);
  if (report.comparison) json["comparison"] = comparison_json(*report.comparison);
  json["recordings"] = recordings_json(report.observations);
  json["inputs"] = files_json(report.inputs.files);
  json["unused_keys"] = unused_keys_json(key_notes(report.scenario));
  Scenario echoed = report.scenario;
  json["scenario"] = config::write(config_fields(echoed));
}

}  // namespace goodput
