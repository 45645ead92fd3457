// The routing that a scenario asks for: recorded, synthesized, skewed for ever, or balanced.
#pragma once

#include <cstdint>
#include <optional>

#include "models/routing/job_routing.h"
#include "models/scenario/scenario.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "tools/simulate/scenario_files.h"

namespace goodput {

struct ScenarioRouting {
  JobRouting routing;
  std::optional<ScenarioFile> file{};     // that was read for it
  std::optional<config::Source> model{};  // if that is a config it was synthesized from
};

// `seed` draws what is synthesized, and which experts are popular where there is only a skew. A model of
// routing that has fewer layers or experts than the job is stretched to it.
Result<ScenarioRouting> read_scenario_routing(const Scenario& scenario, std::uint64_t seed);

}  // namespace goodput
