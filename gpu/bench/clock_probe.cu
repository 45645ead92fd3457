#include "gpu/bench/clock_probe.h"
#include "gpu/kernel.cuh"

namespace goodput::gpu::bench {
namespace {

// So long that a timer which ticks every 10 us still tells 1 %.
constexpr std::int64_t kSpinCycles = 2'000'000;

__device__ std::int64_t global_timer_ns() {
#if defined(GOODPUT_SIMT)
  return simt::global_timer_ns();
#else
  std::int64_t ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
#endif
}

// One warp. It counts cycles, not time, so it ends whatever the timer does.
__global__ void __launch_bounds__(kWarpSize) spin(std::int64_t cycles, ClockSpan* span) {
  const std::int64_t begin = clock64();
  const std::int64_t begin_ns = global_timer_ns();
  std::int64_t end = begin;
  while (end - begin < cycles) end = clock64();
  const std::int64_t end_ns = global_timer_ns();
  if (lane_id() == 0) *span = {end - begin, end_ns - begin_ns};
}

}  // namespace

std::optional<double> mhz_of(const ClockSpan& span) {
  if (span.ns <= 0) return std::nullopt;
  return static_cast<double>(span.cycles) / static_cast<double>(span.ns) * 1e3;
}

std::optional<double> ClockProbe::sm_mhz(const Stream& stream) const {
  launch(spin, {1, kWarpSize}, stream.get(), kSpinCycles, device_.data());
  GOODPUT_CUDA(
      cudaMemcpyAsync(host_.data(), device_.data(), sizeof(ClockSpan), cudaMemcpyDeviceToHost, stream.get()));
  stream.synchronize();
  return mhz_of(*host_.data());
}

}  // namespace goodput::gpu::bench
