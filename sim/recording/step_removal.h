// A recording without some of its steps.
#pragma once

#include <cstddef>
#include <span>

#include "sim/recording/recording.h"

namespace goodput {

// `left_out`: indices into recording.steps, ascending. Blocks keep the steps that stay, those without any go;
// nothing else changes. REQUIRES: at least one step stays.
void leave_out_steps(Recording& recording, std::span<const std::size_t> left_out);

}  // namespace goodput
