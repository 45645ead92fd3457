// What the files that a scenario names hold: recordings of nodes, measured slow-downs, routing, prices.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "models/job/job_model.h"
#include "models/job/timed_plan.h"
#include "models/scenario/scenario.h"
#include "models/scenario/simulation.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "sim/nodes/node_bill.h"
#include "sim/nodes/spot_trace.h"
#include "tools/simulate/scenario_files.h"
#include "tools/simulate/shared_inputs.h"

namespace goodput {

struct ScenarioInputs {
  std::unique_ptr<SharedInputs> own;          // what the others refer to; none: it is shared
  std::unique_ptr<const TimedPlan> in_error;  // what the job refers to if its plan assumes an error of prices
  std::unique_ptr<const JobModel> job;
  std::vector<const SpotTrace*> traces;            // of all_failures(), by model; null where it replays none
  std::vector<std::span<const double>> slowdowns;  // likewise; empty where it wants none
  std::vector<std::string> node_names;             // by id; empty: it has none of its own
  SimDuration window{};                            // of recordings that a run may take: recording_window()
  std::vector<PricedNodes> pools;                  // of the scenario: pools_of()
  std::vector<ScenarioFile> files;                 // that were read, beside the scenario's own and the plan's
  std::optional<config::Source> routing_model;     // among them: the config that routing was synthesized from
  std::uint64_t content_hash = 0;                  // of what is in `files`

  // Refers to this object.
  [[nodiscard]] SimulationInputs view() const;

  // What a recording calls the node, else "node 7", of a pool with a name "spot 7".
  [[nodiscard]] std::string node_name(NodeId node) const;

  // A line for each file that another one stands in for.
  [[nodiscard]] std::vector<std::string> notes() const;
};

// `seed` draws routing that nobody recorded. Errors name the scenario with a pointer, or the file.
Result<ScenarioInputs> read_scenario_inputs(const Scenario& scenario, std::uint64_t seed);
// `shared` must outlive the result, and no trim() may come before it goes. REQUIRES: always the same seed.
Result<ScenarioInputs> read_scenario_inputs(const Scenario& scenario, std::uint64_t seed,
                                            SharedInputs& shared);

}  // namespace goodput
