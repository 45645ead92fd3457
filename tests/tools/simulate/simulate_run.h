// `goodput simulate` of a scenario that a test has as JSON.
#pragma once

#include <string>
#include <vector>

#include "sim/base/json_fwd.h"
#include "tools/cli/command.h"

namespace goodput::testing {

struct SimulateRun {
  ExitCode code{};
  std::string out;
  std::string err;  // the scenario's file is "s.json"
};
[[nodiscard]] SimulateRun simulate_run(const Json& scenario, std::vector<std::string> options = {});

// Its JSON. REQUIRES: that it works.
[[nodiscard]] Json simulate_result(const Json& scenario);

}  // namespace goodput::testing
