#include "gpu/device.h"

namespace goodput::gpu {

DeviceSearch find_devices() {
  int count = 0;
  const cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0) return {count, ""};
  int driver = 0;
  int runtime = 0;
  static_cast<void>(cudaDriverGetVersion(&driver));
  static_cast<void>(cudaRuntimeGetVersion(&runtime));
  static_cast<void>(cudaGetLastError());
  return {0, why_no_device(error, driver, runtime)};
}

std::string why_no_device(cudaError_t error, int driver_version, int runtime_version) {
  if (error == cudaSuccess || error == cudaErrorNoDevice) return "no GPU";
  if (error == cudaErrorInsufficientDriver && driver_version == 0) return "no CUDA driver";
  if (error == cudaErrorInsufficientDriver) {
    return "the CUDA driver supports CUDA " + version_text(driver_version) + ", but this program needs " +
           version_text(runtime_version) + ": update the driver, or build with an older toolkit";
  }
  return std::string("CUDA cannot be used: ") + cudaGetErrorString(error) + " (" + cudaGetErrorName(error) +
         ")";
}

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

}  // namespace goodput::gpu
