// What plain copies of this device reach: the ceiling that kernels which move rows are held against. Measured
// in the same run, since it depends on the device and its clocks of the moment.
//
// Several kernels copy the same data; the fastest of those that copied it right is the ceiling.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/measure.h"
#include "gpu/row_copy.h"

namespace goodput::gpu::bench {

struct CopyRate {
  std::string kernel;
  Measurement time;
  double gb_per_s;  // bytes read + written, over the median of the events
  std::uint64_t nwrong;
};

struct CopyCeiling {
  int copies;  // written of everything read
  std::int64_t source_bytes;
  std::vector<CopyRate> tried;

  [[nodiscard]] std::int64_t moved_bytes() const { return source_bytes * (1 + copies); }
  // None: nothing copied right.
  [[nodiscard]] const CopyRate* best() const;
  [[nodiscard]] std::uint64_t nwrong() const;
};

// REQUIRES: `copies` is 1 or 8, `source_bytes` a multiple of 32 KiB.
[[nodiscard]] CopyCeiling measure_copy_ceiling(int copies, std::int64_t source_bytes,
                                               const CopyDevice& device, const Measurer& measurer);

}  // namespace goodput::gpu::bench
