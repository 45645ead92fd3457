// The first line of a journal: on what, how and by what is measured. Its members become those of the file.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/calibrate/device_state.h"
#include "gpu/calibrate/json_value.h"
#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

struct HeaderFacts {
  std::string tier;  // "measured", "emulated"
  std::string revision;
  std::string date;
  std::vector<std::string> arguments;
  Sizes sizes;
  int gpus;          // in this machine
  std::string nccl;  // ""
};

// Of the current device. What nobody knows is left out. Throws CudaError.
[[nodiscard]] JsonValue calibration_header(const HeaderFacts& facts, const DeviceState& state);

// "00000000:19:00.0" of the current device, as DeviceState wants it. Throws CudaError.
[[nodiscard]] std::string bus_id();

// What a reader of the file should know of the machine: that a part of a GPU was measured, what held clocks
// down.
[[nodiscard]] std::vector<std::string> machine_notes(const DeviceState& state);

}  // namespace goodput::gpu::calibrate
