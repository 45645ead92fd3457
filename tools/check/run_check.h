// A suite against its baseline, or against another program.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "sim/base/errors.h"
#include "tools/check/baseline.h"
#include "tools/check/check_report.h"
#include "tools/check/suite.h"
#include "tools/check/suite_runner.h"

namespace goodput {

struct CheckOptions {
  unsigned jobs = 1;                 // runs at once; what is found does not depend on it, but where it
                                     // stops at a regression or time is over: what is open then
  std::int64_t max_trials = 4096;    // where another program can give more than the baseline holds
  bool stops_at_regression = false;  // begins no more trials then
  std::function<bool()> is_time_over = [] { return false; };  // asked before more trials are run
  std::function<void()> on_run = [] {};  // after every run of the suite has ended, from any thread
};

// REQUIRES: a baseline or another program. Where both are there, the other program has to give the baseline's
// values where it holds any: it stands for what the baseline was made with. Fails where it does not.
[[nodiscard]] Result<CheckReport> check_suite(const Suite& suite, const Baseline* baseline,
                                              const SuiteRunner& ours, const SuiteRunner* other,
                                              const CheckOptions& options);

}  // namespace goodput
