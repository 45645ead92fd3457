// What `goodput simulate` says of the policies of a scenario: as text for people, as JSON for programs.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "models/scenario/scenario.h"
#include "models/scenario/simulation.h"
#include "sim/base/errors.h"
#include "tools/cli/json_result.h"
#include "tools/simulate/scenario_inputs.h"

namespace goodput {

struct SimulateReport {
  const Scenario& scenario;  // resolved, as it was run
  const ScenarioInputs& inputs;
  const Simulation& simulation;
};

// All config files that a scenario rests on: its own, those it and its plan name.
Result<std::vector<config::Source>> scenario_sources(const Scenario& scenario, const ScenarioInputs& inputs);

// The scenario with all options of its policies filled in.
Result<Scenario> resolved(Scenario scenario);

// Hashes everything that moves a number but the seed, wherever the files lie: the resolved scenario and the
// bytes of the files that were read for it.
Result<Provenance> simulate_provenance(const SimulateReport& report);

// When the job ends: "1000 steps or at most 2.00 h".
[[nodiscard]] std::string goal_text(const Scenario& scenario);

[[nodiscard]] std::string simulate_text(const SimulateReport& report);

// Adds the members of goodput.simulate/1 (docs/formats/simulate.md).
void add_simulate_json(const SimulateReport& report, nlohmann::ordered_json& json);

}  // namespace goodput
