// Tokens by MoE layer and expert: of a step, of a recorded iteration, or those that no checkpoint holds yet.
#pragma once

#include <cstdint>
#include <vector>

namespace goodput {

// [layer][expert]; a token counts once for each of the top_k experts it goes to.
using ExpertTokens = std::vector<std::vector<std::int64_t>>;

}  // namespace goodput
