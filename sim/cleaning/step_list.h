// Step numbers as people read them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace goodput {

// `3-5, 9` of steps that ascend; after `most` parts `and 12 more`.
[[nodiscard]] std::string step_list(std::span<const std::int64_t> steps, std::size_t most = 6);

// `step 9`, `steps 3-5, 9`
[[nodiscard]] std::string named_steps(std::span<const std::int64_t> steps);

}  // namespace goodput
