// Traces of torch.profiler (Kineto) among the formats of op traces: told from their beginnings, and refused
// by whatever wants rows of ops. Their readers are kineto_events.h and kineto_activity.h.
#pragma once

#include <string_view>

namespace goodput {

inline constexpr std::string_view kKinetoFormat = "kineto";

// Whether a file that begins like this (64 KiB and more) is one: by the keys before its events or by the
// categories of events, and it has none of NDTimeline's ops there.
[[nodiscard]] bool is_kineto(std::string_view head);

}  // namespace goodput
