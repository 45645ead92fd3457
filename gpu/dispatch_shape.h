// The sizes of a dispatch, alike on all ranks.
#pragma once

#include <cstdint>

#include "gpu/element.h"
#include "models/dispatch/dispatch.h"

namespace goodput::gpu {

inline constexpr std::int32_t kMaxRanks = 1024;
inline constexpr std::int32_t kMaxExperts = 512;
inline constexpr std::int32_t kMaxTopK = 8;
// Of all ranks: rows are numbered in 31 bits, less what says "none" in a report (gpu/report.h).
inline constexpr std::int32_t kMaxSlots = 0x7f000000;

struct DispatchShape {
  std::int32_t ranks = 1;       // 1 .. kMaxRanks
  std::int32_t experts = 1;     // 1 .. kMaxExperts
  std::int32_t top_k = 1;       // experts a token is routed to, 1 .. kMaxTopK
  std::int32_t max_tokens = 0;  // of a rank; ranks * max_tokens * top_k: at most kMaxSlots
  std::int32_t hidden = 1;      // elements of a row
  ElementType element = ElementType::kBf16;
  moe::DispatchPolicy policy = moe::DispatchPolicy::kProportional;

  [[nodiscard]] std::int64_t max_slots() const { return std::int64_t{max_tokens} * top_k; }
  [[nodiscard]] std::int64_t row_bytes() const {
    return hidden * static_cast<std::int64_t>(bytes_of(element));
  }
};

// Both throw std::invalid_argument that names the size and its range.
void check_shape(const DispatchShape& shape);
void check_top_k(const char* of, std::int32_t top_k);

}  // namespace goodput::gpu
