// What plain copies of this device reach: the ceiling that kernels which move rows are held against. Measured
// in the same run, since it depends on the device and its clocks of the moment; the best once more at the end
// of the run, to tell whether these changed.
//
// Several kernels move the same data; the fastest of those that moved it right is the ceiling. Where there
// are several places, they are the same distance apart, which is a multiple of no large power of two: the
// same word of all places shall not meet in one channel of the memory.
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
  CopyFlow flow;
  std::int64_t place_bytes;
  std::vector<CopyRate> tried;
  std::optional<CopyRate> again;  // the best kernel, at the end of the run

  [[nodiscard]] std::int64_t moved_bytes() const { return place_bytes * (flow.reads + flow.writes); }
  // None: nothing copied right.
  [[nodiscard]] const CopyRate* best() const;
  [[nodiscard]] std::uint64_t nwrong() const;
  // By how much the rate at the end is more than at first, as a fraction. None: not measured twice.
  [[nodiscard]] std::optional<double> drift() const;
};

// REQUIRES: a flow of 1 : 1, 1 : 8 or 8 : 1; `place_bytes` a multiple of 8 KiB.
[[nodiscard]] CopyCeiling measure_copy_ceiling(const CopyFlow& flow, std::int64_t place_bytes,
                                               const CopyDevice& device, const Measurer& measurer);
// The best kernel again. None: there is none.
[[nodiscard]] std::optional<CopyRate> measure_again(const CopyCeiling& ceiling, const CopyDevice& device,
                                                    const Measurer& measurer);

}  // namespace goodput::gpu::bench
