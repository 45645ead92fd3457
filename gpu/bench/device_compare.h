// Compares what kernels left with what they should have: whole arrays, and the report of what went wrong.
#pragma once

#include <cstdint>
#include <vector>

#include "gpu/bench/payload.h"
#include "gpu/bench/point.h"
#include "gpu/report.h"

namespace goodput::gpu::bench {

template <class T>
void poison(T* memory, std::size_t count, const Stream& stream) {
  if (count == 0) return;
  GOODPUT_CUDA(cudaMemsetAsync(memory, kPoisonByte, count * sizeof(T), stream.get()));
}

// All of `expected`.
inline void compare(const std::int32_t* device, const std::vector<std::int32_t>& expected, Check& check) {
  const std::vector<std::int32_t> got = download(device, expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) check.nwrong += got[i] != expected[i] ? 1 : 0;
  check.compared += expected.size();
}

// A report in which nothing is wrong yet, and every number of it that is not so any more.
inline DeviceBuffer<DeviceReport> clean_report() {
  return upload(std::vector<DeviceReport>{{kNothingWrong, kNothingWrong, kNothingWrong, kNothingWrong}});
}
inline void compare(const DeviceBuffer<DeviceReport>& report, Check& check) {
  compare(reinterpret_cast<const std::int32_t*>(report.data()), std::vector<std::int32_t>(4, kNothingWrong),
          check);
}

}  // namespace goodput::gpu::bench
