// A suite to begin with, of scenarios: goodput check SUITE --init SCENARIO...
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/check/suite_runner.h"

namespace goodput {

struct FirstSuite {
  std::string json{};                // of the suite
  std::vector<std::string> notes{};  // how tolerances came about, a line a scenario
};

// By scenario what its trials are measured by: jct_s where all reach a goal, else samples_per_hour; goodput;
// samples_per_usd where nodes have prices. The tolerance of each is the smallest of kTolerances that is at
// least kToleratedNoises times what two means of independent trials differ by, so that a baseline's trials
// can tell even changes that have nothing in common with it; where trials do not scatter at all it is no
// statistical one.
[[nodiscard]] Result<FirstSuite> first_suite(const std::vector<std::string>& scenarios,
                                             const SuiteRunner& runner, unsigned jobs);

}  // namespace goodput
