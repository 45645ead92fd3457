// The step of a plan as a timeline for a trace viewer.
#pragma once

#include <string>
#include <string_view>

#include "models/step/planned_step.h"
#include "sim/base/errors.h"

namespace goodput {

// Chrome trace JSON (traces/timeline/op_tracks.h): a process an expert-parallel rank where their loads
// differ, else one; threads for computation and each kind of communication of every stage.
Status write_step_timeline(const PlannedStep& step, const std::string& path, std::string_view final_path);

}  // namespace goodput
