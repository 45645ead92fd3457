// What the kernels found wrong with their input.
#pragma once

#include <cstdint>

namespace goodput::gpu {

// Set to kNothingWrong before a dispatch; kernels lower the numbers.
inline constexpr std::int32_t kNothingWrong = 0x7f7f7f7f;  // what memset(0x7f) leaves
inline constexpr int kNothingWrongByte = 0x7f;

struct DeviceReport {
  std::int32_t bad_slot;        // the first slot whose expert does not exist
  std::int32_t lost_expert;     // the first expert with tokens and without replicas
  std::int32_t crowded_expert;  // the first with more than moe::kMostTokens tokens
  std::int32_t reserved;
};

}  // namespace goodput::gpu
