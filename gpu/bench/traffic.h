// How many bytes an operation has to move, and what follows from that: pure arithmetic.
//
// Every row is read once and written once; GB are 1e9 bytes, and a rate counts bytes read and bytes written.
#pragma once

#include <cstdint>
#include <string>

#include "gpu/element.h"

namespace goodput::gpu::bench {

// T, d and k of a rank's share of a layer. Every token has all its k choices.
struct LayerShape {
  std::int64_t tokens;
  std::int64_t hidden;
  std::int64_t top_k;
  ElementType element = ElementType::kBf16;

  [[nodiscard]] std::int64_t slots() const { return tokens * top_k; }
  [[nodiscard]] std::int64_t row_bytes() const {
    return hidden * static_cast<std::int64_t>(bytes_of(element));
  }
};

// "T=4096 d=7168 k=8"
[[nodiscard]] std::string name_of(const LayerShape& shape);

// A read and k writes of a token's row: 2Td(1 + k) bytes in bf16. The map is not counted.
[[nodiscard]] std::int64_t scatter_bytes(const LayerShape& shape);
// k reads, one write, a position (4 bytes) and a weight (4 bytes) a slot.
[[nodiscard]] std::int64_t combine_bytes(const LayerShape& shape);
// The sum of k rows a token: as combine, without weights.
[[nodiscard]] std::int64_t scatter_backward_bytes(const LayerShape& shape);
// dy once, k rows read, k gradients written; position, weight and the weight's gradient of every slot.
[[nodiscard]] std::int64_t combine_backward_bytes(const LayerShape& shape);
// A read and a write of every row. The map is not counted.
[[nodiscard]] std::int64_t regroup_bytes(std::int64_t rows, std::int64_t row_bytes);

// From how many places something reads a byte, and to how many it writes one.
struct CopyFlow {
  int reads = 1;
  int writes = 1;

  friend bool operator==(const CopyFlow& a, const CopyFlow& b) {
    return a.reads == b.reads && a.writes == b.writes;
  }
};
inline constexpr int kMostPlaces = 8;
// "1 read : 8 write"
[[nodiscard]] std::string name_of(const CopyFlow& flow);
// Bytes from a place of so many to the next: a little more, so that it is no multiple of a large power of
// two.
[[nodiscard]] std::int64_t place_stride(std::int64_t place_bytes);

// REQUIRES: gb_per_s > 0.
[[nodiscard]] double floor_us(std::int64_t bytes, double gb_per_s);
// REQUIRES: us > 0.
[[nodiscard]] double gb_per_s(std::int64_t bytes, double us);
// The floor over what was measured: 1 is as fast as copying. REQUIRES: us > 0.
[[nodiscard]] double share_of_ceiling(double floor, double us);

enum class CacheState : std::uint8_t { kCold, kHot };
[[nodiscard]] const char* name_of(CacheState state);  // "cold", "L2-hot"

// Moving less than this in a round over all input sets may find some of it in the L2 cache.
inline constexpr std::int64_t kColdBytes = 256'000'000;

// How many sets of inputs to rotate for the round to be cold: one where one is enough, else at least 4, and
// no more than 16.
[[nodiscard]] int sets_for(std::int64_t bytes);
[[nodiscard]] CacheState cache_state(std::int64_t bytes, int sets);

}  // namespace goodput::gpu::bench
