// Which part of a routing trace a command looks at.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/routing/routing_trace.h"

namespace goodput {

// Positions of the layers that a list such as 0-11,15 names; all for an empty list. A range takes what
// exists; a single layer has to exist, and some layer.
[[nodiscard]] Result<std::vector<std::size_t>> find_layers(const RoutingTrace& trace,
                                                           const std::string& list);

// The `top` experts with the most tokens, in order of their numbers; of equal ones the first.
// REQUIRES: top <= loads.size().
[[nodiscard]] std::vector<std::int32_t> most_loaded(std::span<const std::int64_t> loads, std::size_t top);

}  // namespace goodput
