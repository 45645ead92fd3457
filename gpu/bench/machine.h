// The device measured on, as the CUDA runtime tells.
#pragma once

#include <string>

#include "gpu/bench/json.h"

namespace goodput::gpu::bench {

struct Machine {
  std::string gpu;
  int multiprocessors;
  int compute_major;
  int compute_minor;
  int l2_bytes;
  int sm_clock_khz;      // the highest, not that of the moment
  int memory_clock_khz;  // the same
  int memory_bus_bits;
  int driver_version;   // 13000 is 13.0
  int runtime_version;  // as well
};

// The current device. Throws CudaError.
Machine read_machine();

// One line.
std::string text_of(const Machine& machine);
void write(const Machine& machine, JsonWriter& json);

}  // namespace goodput::gpu::bench
