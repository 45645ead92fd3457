// What `goodput fit-steps` says about a fit: as text for people, as JSON for programs, as a stack file.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/fit/stack_fit.h"
#include "models/plan/training_plan.h"
#include "sim/base/json_fwd.h"

namespace goodput {

struct FitStepsResult {
  std::string rows_file;
  SoftwareStack base;       // that the fit started from
  std::string base_parent;  // how the fitted stack names it: a name or an absolute path
  std::vector<MeasuredStep> steps;
  std::vector<std::size_t> lines;   // of the file, by step
  std::vector<std::string> groups;  // models, by step
  StackFit fit;
  std::vector<double> left_out;  // predicted over measured, minus 1, by step, each unseen by its fit
};

[[nodiscard]] std::string fit_steps_text(const FitStepsResult& result);

// Adds the members of goodput.fit-steps/1 (docs/formats/fit-steps.md).
void add_fit_steps_json(const FitStepsResult& result, OrderedJson& json);

// The stack as a file: what differs from its parent, with where the numbers come from.
[[nodiscard]] std::string fitted_stack_file(const FitStepsResult& result, const std::string& name);

}  // namespace goodput
