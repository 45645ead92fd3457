// Runs the points of a sweep one after the other.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "models/scenario/scenario.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"
#include "tools/simulate/scenario_inputs.h"
#include "tools/simulate/shared_inputs.h"
#include "tools/sweep/store/point_rows.h"
#include "tools/sweep/sweep_request.h"

namespace goodput {

// For one thread: what it knows of a point it keeps for the next ones. Results do not depend on that.
class PointRunner {
 public:
  // Keeps references. `library` should keep files (config::Library::parsed).
  PointRunner(const SweepRequest& request, const config::Library& library)
      : request_(request), library_(library) {}

  // The scenario of a point, with the policies and trials of the sweep.
  Result<Scenario> scenario(std::uint64_t point);

  // Runs all trials of a point. What cannot be is no error here, but what there is to say of the point.
  PointRows run(std::uint64_t point);

  // Of a scenario(): hashes what moves a number, as `goodput simulate --json` does.
  Result<std::string> config_hash(const Scenario& scenario);

 private:
  Result<std::int32_t> plan_nodes(const std::vector<config::Change>& changes);
  Status run_scenario(const Scenario& scenario, PointRows& rows);

  const SweepRequest& request_;
  const config::Library& library_;
  SharedInputs shared_{};
  std::map<std::string, std::int32_t> plan_nodes_{};  // by what changes the plan
};

}  // namespace goodput
