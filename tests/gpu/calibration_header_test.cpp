#include "gpu/calibrate/calibration_header.h"

#include <doctest/doctest.h>

#include "gpu/calibrate/journal.h"

namespace goodput::gpu::calibrate {
namespace {

int nvml_begins() {
  return 0;
}
int nvml_finds(const char*, void** device) {
  static int any = 0;
  *device = &any;
  return 0;
}
int nvml_says_on(void*, unsigned* current, unsigned* pending) {
  *current = *pending = 1;
  return 0;
}
int nvml_says_350_w(void*, unsigned* milliwatts) {
  *milliwatts = 350'000;
  return 0;
}

// Of a GPU in MIG mode, with ECC.
void* mig_symbols(const char* name) {
  const std::string wanted = name;
  if (wanted == "nvmlInit_v2" || wanted == "nvmlShutdown") return reinterpret_cast<void*>(nvml_begins);
  if (wanted == "nvmlDeviceGetHandleByPciBusId_v2") return reinterpret_cast<void*>(nvml_finds);
  if (wanted == "nvmlDeviceGetMigMode" || wanted == "nvmlDeviceGetEccMode")
    return reinterpret_cast<void*>(nvml_says_on);
  if (wanted == "nvmlDeviceGetEnforcedPowerLimit") return reinterpret_cast<void*>(nvml_says_350_w);
  return nullptr;
}

const HeaderFacts kFacts{"emulated", "abc", "2026-01-01", {"--rounds", "2"}, Sizes::kQuick, 8, "2.28.9"};

TEST_CASE("calibration header: machine, method, revision and arguments, and what NVML knows") {
  const DeviceState state(mig_symbols, bus_id());
  const JsonValue header = calibration_header(kFacts, state);
  CHECK(header.at("schema").text() == kJournalSchema);
  CHECK(header.at("tier").text() == "emulated");
  CHECK(header.at("revision").text() == "abc");
  CHECK(header.at("utc").text() == "2026-01-01");
  CHECK(json_text(header.at("argv")) == R"(["--rounds","2"])");
  CHECK(
      json_text(header.at("machine")) ==
      R"x({"gpu": "emulated (no GPU)","gpus": 8,"sm": 4,"hbm_gib": 16,"driver": "CUDA 13.0","cuda": "13.0",)x"
      R"("nccl": "2.28.9","memory_mhz": 0.001,"power_w": 350,"ecc": true,"mig": true})");
  for (const char* const how : {"timer", "caches", "stop"})
    CHECK_FALSE(header.at("method").at(how).text().empty());
}

TEST_CASE("calibration header: without NVML what it knows is left out, and the notes say so") {
  const DeviceState none(DeviceState::Symbols(), bus_id());
  const JsonValue header = calibration_header(kFacts, none);
  for (const char* const unknown : {"power_w", "ecc", "mig"})
    CHECK(header.at("machine").find(unknown) == nullptr);
  CHECK(machine_notes(none) ==
        std::vector<std::string>{"no NVML: clocks by the kernel that probes them, no power"});
}

TEST_CASE("calibration header: a part of a GPU is measured as it is found, and the notes say so") {
  const DeviceState state(mig_symbols, bus_id());
  CHECK(machine_notes(state) ==
        std::vector<std::string>{"MIG is on: a part of a GPU was measured, as it was found"});
}

TEST_CASE("calibration header: the bus id is as NVML wants it") {
  CHECK(bus_id() == "00000000:00:00.0");
}

}  // namespace
}  // namespace goodput::gpu::calibrate
