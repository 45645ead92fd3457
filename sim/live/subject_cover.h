// Which subjects lie within others: a worker within its host, a host within its replica.
#pragma once

#include "sim/analysis/verdict.h"
#include "sim/live/step_result.h"

namespace goodput {

// Whether all that `inner` is about lies within the subject of `outer`. Both are of a job of this layout.
[[nodiscard]] bool covers(const Verdict& outer, const Verdict& inner, const JobLayout& layout);

}  // namespace goodput
