#include "sim/base/hash.h"

#include <cstddef>

namespace goodput {

// Four interleaved sums: 3 GB/s instead of 1, because the multiplications overlap.
void Hash::add(std::span<const double> values) {
  std::uint64_t lanes[4] = {1, 2, 3, 4};
  std::size_t i = 0;
  for (; values.size() - i >= 4; i += 4) {
    for (std::size_t k = 0; k < 4; ++k) {
      lanes[k] =
          (std::rotl(lanes[k], 29) ^ std::bit_cast<std::uint64_t>(values[i + k])) * 0x9e3779b97f4a7c15U;
    }
  }
  for (; i < values.size(); ++i) add(values[i]);
  for (const std::uint64_t lane : lanes) add(lane);
  add(values.size());
}

}  // namespace goodput
