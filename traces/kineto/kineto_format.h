// Recognizes torch.profiler (Kineto) traces among the formats of op traces, and refuses them where rows of
// ops are needed. kineto_events.h and kineto_activity.h read them.
#pragma once

#include <string_view>

namespace goodput {

inline constexpr std::string_view kKinetoFormat = "kineto";

// Whether a file that begins like this (64 KiB or more) is one: it has Kineto's keys before the events, or
// Kineto's categories of events, and no ops of NDTimeline.
[[nodiscard]] bool is_kineto(std::string_view head);

}  // namespace goodput
