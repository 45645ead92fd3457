// What the production engine makes of a trace, in the reference's terms.
#pragma once

#include <string>

#include "tests/support/analysed_trace.h"
#include "tests/support/published_case.h"

namespace goodput::testing {

// Who the op meets in other replicas.
void add_meetings(const ReplicaPartition& partition, const std::string& op, std::size_t replicas,
                  reference::Dependencies& dependencies);
[[nodiscard]] reference::Dependencies dependencies_of(const OpGraph& graph, const Recording& recording);
[[nodiscard]] OpTimesByInstance op_times_of(const OpGraph& graph, const Recording& recording);

}  // namespace goodput::testing
