// How far off predicted steps may be: a range that holds 80 % of measured ones.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "models/stack/software_stack.h"
#include "models/stack/step_family.h"

namespace goodput {

// Of a step time, as factors on it.
struct StepRange {
  double low = 1;
  double high = 1;
  std::size_t rows = 0;  // measured steps that it rests on; 0: the range is one that is assumed
  std::string basis;     // "18 measured steps of MoE on H100 in 16 bit"
};

// From the stack's rows of this family that were left out of its fit. If there are too few, from rows of less
// alike families: of the same parallelism, then of all.
[[nodiscard]] StepRange range_for(const SoftwareStack& stack, const StepFamily& family);

}  // namespace goodput
