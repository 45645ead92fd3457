// How many random cases a test draws.
#pragma once

#include <cstdint>
#include <cstdlib>

namespace goodput::testing {

// The first quarter of all; all of them with GOODPUT_ALL_CASES in the environment, as in ./run-tests --all.
[[nodiscard]] inline std::uint64_t cases(std::uint64_t all) {
  return std::getenv("GOODPUT_ALL_CASES") != nullptr ? all : (all + 3) / 4;
}

}  // namespace goodput::testing
