// What came of the runs of a suite.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "tools/check/baseline.h"
#include "tools/check/check_report.h"
#include "tools/check/figure_check.h"
#include "tools/check/run_figures.h"
#include "tools/check/suite.h"

namespace goodput {

// One run of the suite, as far as it got.
struct RunProgress {
  const SuiteRun* run = nullptr;
  std::string failed{};               // why it has no figures
  RunFigures ours{};                  // of the first trials
  std::optional<RunFigures> other{};  // of the other program, likewise
  std::string other_failed{};         // why that has no figures
  std::int64_t trials = 0;            // that were run
  std::vector<FigureCheck> checks{};  // with all of them
  bool out_of_time = false;
  bool is_stopped = false;  // by a regression, elsewhere or here
};

// Whether the run has shown one by now, without regard to what others show.
[[nodiscard]] bool has_regression(const RunProgress& run);

// All figures of the runs and of the baseline, worst first. `has_other`: more trials than the baseline holds
// could be had.
[[nodiscard]] CheckReport verdicts(const Suite& suite, const Baseline* baseline, bool has_other,
                                   std::span<const RunProgress> runs);

}  // namespace goodput
