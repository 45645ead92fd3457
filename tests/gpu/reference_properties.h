// What must be true of every dispatch. The first thing that is wrong, in words; empty: nothing.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/reference.h"
#include "tests/gpu/reference_cases.h"

namespace goodput::testing {

// All of the schedule, and the messages of all ranks to all hosts.
[[nodiscard]] std::string wrong_schedule(const Cluster& cluster, const gpu::reference::Schedule& schedule,
                                         moe::DispatchPolicy policy);
// Against the enumeration of every surplus token, of one expert.
[[nodiscard]] std::string wrong_messages(const Cluster& cluster, const gpu::reference::Schedule& schedule,
                                         std::int32_t expert);
// Sizes of the buffers, and where slots and received rows go, of one rank.
[[nodiscard]] std::string wrong_layout(const Cluster& cluster, const gpu::reference::Schedule& schedule,
                                       const gpu::reference::RankLayout& layout, std::int32_t me);
[[nodiscard]] std::string wrong_positions(const Cluster& cluster, const gpu::reference::Schedule& schedule,
                                          const gpu::reference::RankLayout& layout, std::int32_t me);

}  // namespace goodput::testing
