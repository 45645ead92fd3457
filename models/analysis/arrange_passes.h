// From rows of pipeline passes to a recording and its operation graph: the first half of every analysis.
#pragma once

#include <string>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/clocks/align_clocks.h"
#include "sim/ops/job_rows.h"

namespace goodput {

struct ArrangeOptions {
  bool strict = false;                  // refuse what would be dropped or left out
  std::vector<NumberRange> steps = {};  // empty: all
  ClockAlignment clocks = ClockAlignment::kAuto;
  std::string trial_name;  // if the metadata has none
};

// Cleans (sim/cleaning/trace_cleaning.h) and arranges rows that were read, wherever they came from. `notes`
// gets what the user should know, also if it fails: they may say why.
Result<ArrangedJob> arrange_passes(JobRows rows, const ArrangeOptions& options,
                                   std::vector<std::string>& notes);

}  // namespace goodput
