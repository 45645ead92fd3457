// What `goodput simulate` says of the policies of a scenario: as text for people, as JSON for programs.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/scenario/observations.h"
#include "models/scenario/policy_comparison.h"
#include "models/scenario/scenario.h"
#include "models/scenario/simulation.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"
#include "tools/cli/json_result.h"
#include "tools/simulate/recorded_run.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput {

struct SimulateReport {
  const Scenario& given;
  const Scenario& scenario;  // the same resolved, as it was run
  const ScenarioInputs& inputs;
  const Simulation& simulation;
  std::optional<PolicyComparison> comparison{};
  const std::vector<RecordedRun>* recorded = nullptr;  // of the policies that run; none: nobody recorded them
  Observations observations{};                         // of its trials
};

// All config files that a scenario rests on: its own, those it and its plan name.
Result<std::vector<config::Source>> scenario_sources(const Scenario& scenario, const ScenarioInputs& inputs);

// The scenario with all options of its policies filled in.
Result<Scenario> resolved(Scenario scenario);

// Hashes everything that moves a number but the seed, wherever the files lie: the resolved scenario and the
// bytes of the files that were read for it. The lowest tier is the scenario's own.
Result<Provenance> scenario_provenance(const Scenario& resolved, const ScenarioInputs& inputs);

// Which policy is best, and by how much: "megatron finishes after 13.07 h; lazarus takes 1.15x as long."
[[nodiscard]] std::string simulate_headline(const Simulation& simulation);

// When the job ends: "1000 steps or at most 2.00 h".
[[nodiscard]] std::string goal_text(const Scenario& scenario);

// How single trials scatter and how many meet the deadline, a row a policy; empty where there is neither.
[[nodiscard]] std::string trials_text(const SimulateReport& report);

// What to know of the results besides: what did not run, what is other than one may think, which intervals
// are not to be trusted, which files were read.
[[nodiscard]] std::string simulate_remarks(const SimulateReport& report);

// How numbers are shown: "13.97 M", "$12.50".
[[nodiscard]] std::string count_text(double count);
[[nodiscard]] std::string metric_text(TrialMetric metric, double value);

[[nodiscard]] std::string simulate_text(const SimulateReport& report);

// Adds the members of goodput.simulate/1 (docs/formats/simulate.md).
void add_simulate_json(const SimulateReport& report, OrderedJson& json);

}  // namespace goodput
