// Whether there is a GPU that this program can use, and if there is none, why.
#pragma once

#include <cuda_runtime.h>

#include <string>

namespace goodput::gpu {

struct DeviceSearch {
  int count;
  std::string why_none;  // "" where count > 0
};

// Throws nothing: what CUDA answers is in the result.
[[nodiscard]] DeviceSearch find_devices();

// Why cudaGetDeviceCount, which answered `error`, found no device. The versions are CUDA's numbers, 13000 is
// 13.0; a driver of 0 is none at all.
[[nodiscard]] std::string why_no_device(cudaError_t error, int driver_version, int runtime_version);

// "13.0" for 13000
[[nodiscard]] std::string version_text(int version);

}  // namespace goodput::gpu
