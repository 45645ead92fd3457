// Turns an id into the index of a container: ids (nodes, experts, ops) are int32, sizes are size_t.
#pragma once

#include <cstddef>
#include <cstdint>

namespace goodput {

// REQUIRES: i >= 0.
[[nodiscard]] constexpr std::size_t index(std::int32_t i) {
  return static_cast<std::size_t>(i);
}

}  // namespace goodput
