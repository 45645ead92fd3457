// Poisoned device memory, and the comparison of vectors bit for bit.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "gpu/cuda_call.h"
#include "gpu/device_memory.h"

namespace goodput::gpu::testing {

inline constexpr int kPoison = 0xCD;

// Blocking memsets may still be under way on the default stream when they return; streams that do not wait
// for it must not see that.
inline void finish_default_stream() {
  GOODPUT_CUDA(cudaStreamSynchronize(nullptr));
}

// Device memory of which every byte is kPoison.
template <class T>
DeviceBuffer<T> poisoned(std::size_t count) {
  DeviceBuffer<T> device(count);
  if (count != 0) GOODPUT_CUDA(cudaMemset(device.data(), kPoison, count * sizeof(T)));
  finish_default_stream();
  return device;
}

template <class T>
std::vector<T> poisoned_host(std::size_t count) {
  std::vector<T> host(count);
  if (count != 0) std::memset(host.data(), kPoison, count * sizeof(T));
  return host;
}

// "" where both have the same bytes.
template <class T>
std::string differ(const std::string& what, const std::vector<T>& actual, const std::vector<T>& expected) {
  if (actual.size() != expected.size()) {
    return what + ": " + std::to_string(actual.size()) + " elements, not " + std::to_string(expected.size());
  }
  std::size_t wrong = 0;
  std::size_t first = 0;
  for (std::size_t i = actual.size(); i-- > 0;) {
    if (std::memcmp(&actual[i], &expected[i], sizeof(T)) == 0) continue;
    ++wrong;
    first = i;
  }
  if (wrong == 0) return "";
  return what + ": " + std::to_string(wrong) + " of " + std::to_string(actual.size()) +
         " elements are wrong, the first is number " + std::to_string(first);
}

}  // namespace goodput::gpu::testing
