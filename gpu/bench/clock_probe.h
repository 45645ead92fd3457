// The clock of the SMs of this moment, measured: a small kernel counts cycles for a while and looks at the
// nanoseconds that passed. An idle GPU stands at a fraction of its highest clock, a hot one below it, and the
// runtime tells of neither.
#pragma once

#include <cstdint>
#include <optional>

#include "gpu/device_memory.h"

namespace goodput::gpu::bench {

// What passed on an SM between two looks at its clocks.
struct ClockSpan {
  std::int64_t cycles;
  std::int64_t ns;
};

// In MHz. None where no time passed.
[[nodiscard]] std::optional<double> mhz_of(const ClockSpan& span);

class ClockProbe {
 public:
  // In MHz, of one SM, over 2,000,000 cycles (1 ms at 2 GHz) behind what is queued. Waits for the stream;
  // must not be captured. Throws CudaError.
  [[nodiscard]] std::optional<double> sm_mhz(const Stream& stream) const;

 private:
  // Scratch: allocating at every probe would leave the device idle before it.
  mutable DeviceBuffer<ClockSpan> device_{1};
  mutable PinnedBuffer<ClockSpan> host_{1};
};

}  // namespace goodput::gpu::bench
