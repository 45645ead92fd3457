// What the production engine makes of a trace, in the reference's terms.
#pragma once

#include "tests/support/analysed_trace.h"
#include "tests/support/published_case.h"

namespace goodput::testing {

[[nodiscard]] reference::Dependencies dependencies_of(const OpGraph& graph, const Recording& recording);
[[nodiscard]] OpTimesByInstance op_times_of(const OpGraph& graph, const Recording& recording);

}  // namespace goodput::testing
