// How the end of a rank is said.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace goodput::gpu {

// "": it returned 0. "exit code 3", "killed by signal 9 (SIGKILL)"
[[nodiscard]] std::string text_of_status(int wait_status);

// Of ascending ranks: "rank 2", "ranks 0, 1", "ranks 0 to 3, 7"
[[nodiscard]] std::string rank_list(const std::vector<std::int32_t>& ranks);

}  // namespace goodput::gpu
