// All steps of a trace looked at one by one, repeats resolved, and what is to be kept of them.
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

// Adds to `findings` what is wrong in steps that are asked for. Steps of its kDamagedRows are left out.
[[nodiscard]] StepSurvey survey_steps(const OpTrace& trace, const CleaningOptions& options,
                                      Findings& findings, const std::vector<std::int64_t>& damaged_steps);

}  // namespace goodput
