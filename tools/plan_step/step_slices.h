// One planned step as compact arrays: what runs when on which stage, for a picture of the pipeline.
#pragma once

#include <cstddef>

#include "models/step/planned_step.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// Of longer steps the first that begin are kept.
inline constexpr std::size_t kMostSlices = 20'000;

// Of the first lane: every pass (its layers together), transfer and collective that takes time, in the order
// in which they begin: the object "slices" of docs/formats/plan-step.md.
[[nodiscard]] OrderedJson step_slices_json(const PlannedStep& step, std::size_t most_slices = kMostSlices);

}  // namespace goodput
