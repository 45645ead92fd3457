#include "gpu/dispatch_shape.h"

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <string>

namespace goodput::gpu {
namespace {

constexpr std::int32_t kLargest = std::numeric_limits<std::int32_t>::max();

void check_range(const char* of, const char* what, std::int64_t value, std::int64_t least,
                 std::int64_t most) {
  if (value >= least && value <= most) return;
  throw std::invalid_argument(std::string(of) + ": " + what + " must be from " + std::to_string(least) +
                              " to " + std::to_string(most) + ", not " + std::to_string(value));
}

}  // namespace

void check_top_k(const char* of, std::int32_t top_k) {
  check_range(of, "top_k", top_k, 1, kMaxTopK);
}

void check_shape(const DispatchShape& shape) {
  constexpr const char* kOf = "dispatch";
  check_range(kOf, "ranks", shape.ranks, 1, kMaxRanks);
  check_range(kOf, "experts", shape.experts, 1, kMaxExperts);
  check_top_k(kOf, shape.top_k);
  check_range(kOf, "max_tokens", shape.max_tokens, 0, kLargest);
  check_range(kOf, "hidden", shape.hidden, 1, kLargest);
  // No rank can receive more than all ranks send.
  check_range(kOf, "ranks * max_tokens * top_k", shape.max_slots() * shape.ranks, 0, kMaxSlots);
}

}  // namespace goodput::gpu
