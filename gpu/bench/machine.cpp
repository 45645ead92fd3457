#include "gpu/bench/machine.h"

#include <cuda_runtime.h>

#include "gpu/cuda_call.h"
#include "gpu/device.h"

namespace goodput::gpu::bench {
namespace {

int attribute(cudaDeviceAttr which, int device) {
  int value = 0;
  GOODPUT_CUDA(cudaDeviceGetAttribute(&value, which, device));
  return value;
}

}  // namespace

Machine read_machine() {
  int device = 0;
  GOODPUT_CUDA(cudaGetDevice(&device));
  cudaDeviceProp properties;
  GOODPUT_CUDA(cudaGetDeviceProperties(&properties, device));
  Machine machine{};
  machine.gpu = properties.name;
  machine.multiprocessors = attribute(cudaDevAttrMultiProcessorCount, device);
  machine.compute_major = attribute(cudaDevAttrComputeCapabilityMajor, device);
  machine.compute_minor = attribute(cudaDevAttrComputeCapabilityMinor, device);
  machine.l2_bytes = attribute(cudaDevAttrL2CacheSize, device);
  machine.sm_clock_khz = attribute(cudaDevAttrClockRate, device);
  machine.memory_clock_khz = attribute(cudaDevAttrMemoryClockRate, device);
  machine.memory_bus_bits = attribute(cudaDevAttrGlobalMemoryBusWidth, device);
  GOODPUT_CUDA(cudaDriverGetVersion(&machine.driver_version));
  GOODPUT_CUDA(cudaRuntimeGetVersion(&machine.runtime_version));
  return machine;
}

std::string text_of(const Machine& machine) {
  return machine.gpu + ", compute capability " + std::to_string(machine.compute_major) + "." +
         std::to_string(machine.compute_minor) + ", " + std::to_string(machine.multiprocessors) +
         " SMs, SM clock up to " + std::to_string(machine.sm_clock_khz / 1000) + " MHz, L2 " +
         std::to_string(machine.l2_bytes / 1'000'000) + " MB, CUDA driver " +
         version_text(machine.driver_version) + ", runtime " + version_text(machine.runtime_version);
}

void write(const Machine& machine, JsonWriter& json) {
  json.begin_object();
  json.member("gpu", machine.gpu);
  json.member("sm_count", machine.multiprocessors);
  json.member("compute_capability",
              std::to_string(machine.compute_major) + "." + std::to_string(machine.compute_minor));
  json.member("l2_bytes", machine.l2_bytes);
  json.member("sm_clock_max_khz", machine.sm_clock_khz);
  json.member("memory_clock_max_khz", machine.memory_clock_khz);
  json.member("memory_bus_bits", machine.memory_bus_bits);
  json.member("cuda_driver", version_text(machine.driver_version));
  json.member("cuda_runtime", version_text(machine.runtime_version));
  json.end_object();
}

}  // namespace goodput::gpu::bench
