// Checks the steps of a trace one by one, resolves repeats, and says which steps to keep.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "sim/cleaning/cleaning_options.h"
#include "sim/cleaning/findings.h"
#include "sim/cleaning/op_instances.h"
#include "sim/cleaning/step_choice.h"
#include "sim/ops/op_trace.h"

namespace goodput {

struct StepSurvey {
  std::vector<StepInstances> steps;  // without repeated rows and replaced runs
  StepChoice choice;
  std::vector<std::string> problems;  // by step: why it is not whole; empty: it is
};

// Adds the problems of the selected steps to `findings`. Steps already listed there as kDamagedRows are
// dropped.
[[nodiscard]] StepSurvey survey_steps(const OpTrace& trace, const CleaningOptions& options,
                                      Findings& findings, const std::vector<std::int64_t>& damaged_steps);

}  // namespace goodput
