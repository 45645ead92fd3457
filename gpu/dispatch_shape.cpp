#include "gpu/dispatch_shape.h"

#include <limits>
#include <stdexcept>
#include <string>

namespace goodput::gpu {
namespace {

constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();

void check_range(const char* what, std::int64_t value, std::int64_t least, std::int64_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(std::string("dispatch: ") + what + " is " + std::to_string(value) +
                              ", must be " + std::to_string(least) + " to " + std::to_string(most));
}

}  // namespace

void check_shape(const DispatchShape& shape) {
  check_range("ranks", shape.ranks, 1, kMaxRanks);
  check_range("experts", shape.experts, 1, kMaxExperts);
  check_range("top_k", shape.top_k, 1, kMaxTopK);
  check_range("max_tokens", shape.max_tokens, 0, kLargest);
  check_range("hidden", shape.hidden, 1, kLargest);
  // No rank can receive more than all ranks send.
  check_range("ranks * max_tokens * top_k", shape.max_slots() * shape.ranks, 0, kMaxSlots);
}

}  // namespace goodput::gpu
