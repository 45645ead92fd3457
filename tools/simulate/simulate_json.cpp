#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>
#include <type_traits>
#include <utility>

#include "sim/base/hash.h"
#include "sim/config/config.h"
#include "sim/job/time_bucket.h"
#include "tools/cli/config_files.h"
#include "tools/cli/unused_keys.h"
#include "tools/plan/plan_provenance.h"
#include "tools/simulate/simulate_report.h"

namespace goodput {
namespace {

using nlohmann::ordered_json;

// A mean, and in `intervals` what is known of it.
void add_estimate(std::string_view name, const std::optional<Estimate>& estimate, ordered_json& into,
                  ordered_json& intervals) {
  into[std::string(name)] = or_null(estimate ? std::optional(estimate->mean) : std::nullopt);
  if (estimate && estimate->interval) intervals[std::string(name)] = *estimate->interval;
}

ordered_json buckets_json(const std::array<Estimate, kTimeBucketCount>& times) {
  ordered_json json = ordered_json::object();
  for (std::size_t i = 0; i < kTimeBucketCount; ++i) json[std::string(kTimeBuckets[i].name)] = times[i].mean;
  return json;
}

// The reason that came up most; of equal ones the first by name.
ordered_json main_reason(const PolicyOutcome& outcome) {
  if (outcome.stopped.empty()) return nullptr;
  return std::max_element(outcome.stopped.begin(), outcome.stopped.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

ordered_json outcome_json(const PolicyOutcome& outcome, bool has_price) {
  ordered_json json = {{"policy", outcome.policy}};
  ordered_json intervals = ordered_json::object();
  const auto add = [&](std::string_view name, const std::optional<Estimate>& estimate) {
    add_estimate(name, estimate, json, intervals);
  };
  add("steps", outcome.steps);
  add("samples", outcome.samples);
  add("jct_s", outcome.jct_s);
  add("wall_s", outcome.wall_s);
  add("goodput", outcome.goodput);
  add("ettr", outcome.ettr);
  add("cost", has_price ? std::optional(outcome.cost_usd) : std::nullopt);
  json["time_s"] = buckets_json(outcome.time_s);
  json["node_time_s"] = buckets_json(outcome.node_time_s);
  add("reconfigurations", outcome.reconfigurations);
  add("restarts", outcome.restarts);
  add("scale_ups", outcome.scale_ups);
  add("rebalancings", outcome.rebalancings);
  add("nodes_lost", outcome.nodes_lost);
  add("steps_lost", outcome.steps_lost);
  json["trials"] = outcome.trials;
  json["finished"] = outcome.finished;
  json["stopped"] = main_reason(outcome);
  json["stopped_trials"] = outcome.stopped.empty() ? ordered_json::object() : ordered_json(outcome.stopped);
  json["warnings"] = outcome.warnings;
  json["lowest_tier"] = to_string(outcome.tier);
  ordered_json metrics = ordered_json::object();
  for (const auto& [name, estimate] : outcome.metrics) add_estimate(name, estimate, metrics, intervals);
  json["metrics"] = std::move(metrics);
  json["ci"] = std::move(intervals);
  return json;
}

ordered_json ratio_json(const PolicyRatio& ratio) {
  ordered_json json = ordered_json::object();
  ordered_json intervals = ordered_json::object();
  add_estimate("samples", ratio.samples, json, intervals);
  add_estimate("jct_s", ratio.jct_s, json, intervals);
  json["ci"] = std::move(intervals);
  return json;
}

ordered_json files_json(const std::vector<ScenarioFile>& files) {
  ordered_json json = ordered_json::array();
  for (const ScenarioFile& file : files) {
    json.push_back({{"pointer", file.pointer},
                    {"file", file.named},
                    {"used", file.used},
                    {"fallback", file.is_fallback()}});
  }
  return json;
}

// Where files lie moves no number; what is in them is hashed by itself.
ordered_json without_paths(Scenario scenario) {
  scenario.plan.calibration.clear();
  for (FailureConfig& failures : scenario.failures) failures.setup().clear_paths();
  ordered_json written = config::write(config_fields(scenario));
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
  if (inputs.routing_model) sources.push_back(*inputs.routing_model);
  return sources;
}

Result<Provenance> simulate_provenance(const SimulateReport& report) {
  GOODPUT_TRY(Provenance provenance,
              plan_provenance(report.scenario.plan, Granularity::kLayers, report.simulation.lowest_tier));
  GOODPUT_TRY(const std::vector<config::Source> sources, scenario_sources(report.scenario, report.inputs));
  provenance.config_files = files_of(sources);
  Hash hash;
  hash.add(*provenance.config_hash);
  hash.add(without_paths(report.scenario).dump());
  hash.add(report.inputs.content_hash);
  provenance.config_hash = hash.value();
  return provenance;
}

void add_simulate_json(const SimulateReport& report, ordered_json& json) {
  const bool has_price = !report.inputs.prices.is_free();
  json["policies"] = ordered_json::object();
  for (const PolicyOutcome& outcome : report.simulation.policies)
    json["policies"][outcome.name] = outcome_json(outcome, has_price);
  json["ratios"] = ordered_json::object();
  for (const PolicyRatio& ratio : report.simulation.ratios) json["ratios"][ratio.name] = ratio_json(ratio);
  json["inputs"] = files_json(report.inputs.files);
  json["unused_keys"] = unused_keys_json(unused_keys(report.scenario));
  Scenario echoed = report.scenario;
  json["scenario"] = config::write(config_fields(echoed));
}

}  // namespace goodput
