// A baseline that holds what the suite shows now, where that is not what it held.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/check/baseline.h"
#include "tools/check/check_report.h"
#include "tools/check/suite.h"
#include "tools/check/suite_runner.h"

namespace goodput {

struct BaselineUpdate {
  Baseline baseline{};
  std::vector<std::string> diff{};  // "- LINE" and "+ LINE" of its figures
};

// What moved, is new, is gone or has other trials than the suite asks for is rewritten, with all the trials
// of its run; every other line stays what it is. `report`: of the check against `old`; neither: a first
// baseline. Fails where a figure that is to be kept is not there.
[[nodiscard]] Result<BaselineUpdate> update_baseline(const Suite& suite, const Baseline* old,
                                                     const CheckReport* report, const SuiteRunner& runner,
                                                     std::uint64_t seed, unsigned jobs);

}  // namespace goodput
