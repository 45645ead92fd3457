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
// samples_per_usd where nodes have prices. Every policy runs a second time, 1 % slower, on the same failures:
// how the changes of its trials scatter says how well a baseline's trials measure a change. There are as many
// trials (64 to 512) as it takes to find those 1 % with the smallest tolerance, 0.5 %; if that is not enough,
// the tolerance is the smallest of kTolerances that is at least kToleratedNoises standard errors. A policy
// that cannot be slowed down, such as a program, counts as if trials shared nothing. Where trials do not
// scatter at all the tolerance is no statistical one.
[[nodiscard]] Result<FirstSuite> first_suite(const std::vector<std::string>& scenarios,
                                             const SuiteRunner& runner, unsigned jobs);

}  // namespace goodput
