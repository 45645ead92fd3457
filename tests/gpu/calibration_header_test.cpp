// What a journal says of the machine, where NVML is a table of made-up functions and the device emulated.
#include "gpu/calibrate/calibration_header.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <string>

#include "tests/simt/runtime_api.h"

namespace goodput::gpu::calibrate {
namespace {

int succeed() {
  return 0;
}
int find_any(const char*, void** device) {
  static int one = 1;
  *device = &one;
  return 0;
}
int is_on(void*, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return 0;
}
int is_off(void*, unsigned* current, unsigned* pending) {
  *current = *pending = 0;
  return 0;
}

DeviceState with_mig(int (*mode)(void*, unsigned*, unsigned*)) {
  return DeviceState(
      [mode](const char* name) -> void* {
        const std::string asked = name;
        if (asked == "nvmlDeviceGetHandleByPciBusId_v2") return reinterpret_cast<void*>(find_any);
        if (asked == "nvmlDeviceGetMigMode") return reinterpret_cast<void*>(mode);
        if (asked == "nvmlInit_v2" || asked == "nvmlShutdown") return reinterpret_cast<void*>(succeed);
        return nullptr;
      },
      "");
}

TEST_CASE("calibration header: sizes and clocks are in the file's units, and what nobody knows is left out") {
  const DeviceState nothing(DeviceState::Symbols(), "");
  const JsonValue header =
      calibration_header({"emulated", "abc", "2026-01-01", {"--rounds", "2"}, Sizes::kFull, 0, ""}, nothing);
  const JsonValue& machine = header.at("machine");
  std::size_t free = 0;
  std::size_t bytes = 0;
  REQUIRE(cudaMemGetInfo(&free, &bytes) == cudaSuccess);
  // To a hundredth of a GiB.
  CHECK(std::abs(machine.at("hbm_gib").number() - static_cast<double>(bytes) / (1 << 30)) <= 0.005);
  CHECK(machine.at("memory_mhz").number() == 0.001);  // an emulated one runs at 1 kHz
  CHECK(machine.at("driver").text() == "CUDA 13.0");
  CHECK(machine.at("cuda").text() == "13.0");
  for (const char* const unknown : {"gpus", "nccl", "power_w", "ecc", "mig"})
    CHECK(machine.find(unknown) == nullptr);
  CHECK(header.at("tier").text() == "emulated");
  CHECK(header.at("utc").text() == "2026-01-01");
  CHECK(calibration_header({"", "", "", {}, Sizes::kFull, 8, "2.28.9"}, with_mig(is_off))
            .at("machine")
            .at("nccl")
            .text() == "2.28.9");
}

TEST_CASE("calibration header: MIG is said where it is on, and that there is no NVML where there is none") {
  CHECK(machine_notes(with_mig(is_on)) ==
        std::vector<std::string>{"MIG is on: only a part of the GPU was measured"});
  CHECK(machine_notes(with_mig(is_off)).empty());
  CHECK(machine_notes(with_mig(nullptr)).empty());  // of a GPU that has no MIG
  CHECK(machine_notes(DeviceState(DeviceState::Symbols(), "")) ==
        std::vector<std::string>{
            "NVML is not available: clocks are measured by a probe kernel, power is not measured"});
}

// The emulated device's number is its bus.
TEST_CASE("calibration header: the bus id is domain, bus and device as NVML writes them") {
  simt::set_driver_answers({cudaSuccess, 32, CUDART_VERSION});
  REQUIRE(cudaSetDevice(27) == cudaSuccess);
  CHECK(bus_id() == "00000000:1B:00.0");
  REQUIRE(cudaSetDevice(0) == cudaSuccess);
  simt::set_driver_answers({});
}

}  // namespace
}  // namespace goodput::gpu::calibrate
