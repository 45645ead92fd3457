// `goodput simulate` of a scenario that a test has as JSON.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tools/cli/command.h"

namespace goodput::testing {

struct SimulateRun {
  ExitCode code{};
  std::string out;
  std::string err;  // the scenario's file is "s.json"
};
[[nodiscard]] SimulateRun simulate_run(const nlohmann::json& scenario, std::vector<std::string> options = {});

// Its JSON. REQUIRES: that it works.
[[nodiscard]] nlohmann::json simulate_result(const nlohmann::json& scenario);

}  // namespace goodput::testing
