#include "gpu/calibrate/device_state.h"

#include <doctest/doctest.h>

#include <cstring>
#include <map>

namespace goodput::gpu::calibrate {
namespace {

// The functions of a library that does not exist. What they answer is NVML's: 0 is success.
int begin() {
  return 0;
}
int find_device(const char* bus_id, void** device) {
  static int one = 1;
  if (std::strcmp(bus_id, "00000000:19:00.0") != 0) return 6;  // not found
  *device = &one;
  return 0;
}
int driver_version(char* text, unsigned bytes) {
  std::strncpy(text, "580.65.06", bytes);
  return 0;
}
int power_limit(void*, unsigned* milliwatts) {
  *milliwatts = 700'000;
  return 0;
}
int power_usage(void*, unsigned*) {
  return 3;  // not supported
}
int clock_info(void*, unsigned clock, unsigned* mhz) {
  *mhz = clock == 1 ? 1980 : clock == 2 ? 3201 : 0;
  return 0;
}
int ecc_mode(void*, unsigned* current, unsigned* pending) {
  *current = 1;
  *pending = 0;
  return 0;
}
int mig_mode(void*, unsigned* current, unsigned* pending) {
  *current = 0;
  *pending = 1;
  return 0;
}
int throttled(void*, unsigned long long* reasons) {
  *reasons = 0x1 | 0x4 | 0x20;  // idle, power, heat
  return 0;
}
unsigned long long one_reason = 0;
int held_down(void*, unsigned long long* reasons) {
  *reasons = one_reason;
  return 0;
}
int shutdowns = 0;
int shut_down() {
  ++shutdowns;
  return 0;
}

std::map<std::string, void*> library() {
  return {{"nvmlInit_v2", reinterpret_cast<void*>(begin)},
          {"nvmlShutdown", reinterpret_cast<void*>(begin)},
          {"nvmlDeviceGetHandleByPciBusId_v2", reinterpret_cast<void*>(find_device)},
          {"nvmlSystemGetDriverVersion", reinterpret_cast<void*>(driver_version)},
          {"nvmlDeviceGetEnforcedPowerLimit", reinterpret_cast<void*>(power_limit)},
          {"nvmlDeviceGetPowerUsage", reinterpret_cast<void*>(power_usage)},
          {"nvmlDeviceGetClockInfo", reinterpret_cast<void*>(clock_info)},
          {"nvmlDeviceGetEccMode", reinterpret_cast<void*>(ecc_mode)},
          {"nvmlDeviceGetMigMode", reinterpret_cast<void*>(mig_mode)},
          {"nvmlDeviceGetCurrentClocksThrottleReasons", reinterpret_cast<void*>(throttled)}};
}

DeviceState::Symbols symbols_of(const std::map<std::string, void*>& functions) {
  return [functions](const char* name) {
    const auto function = functions.find(name);
    return function == functions.end() ? nullptr : function->second;
  };
}

TEST_CASE("device state: what NVML tells, in our units, the running mode and not the one after a restart") {
  const DeviceState state(symbols_of(library()), "00000000:19:00.0");
  CHECK(state.known());
  CHECK(state.driver() == "580.65.06");
  CHECK(state.power_limit_w() == 700);
  CHECK_FALSE(state.power_w());  // not supported
  CHECK(state.sm_mhz() == 1980);
  CHECK(state.memory_mhz() == 3201);
  CHECK(state.ecc() == true);
  CHECK(state.mig() == false);
  // Older drivers call it throttle reasons; being idle is none.
  CHECK(state.throttle_reasons() == std::vector<std::string>{"power cap", "thermal slowdown"});
}

TEST_CASE("device state: without a library, a device or a function nothing is told") {
  const DeviceState none(DeviceState::Symbols(), "00000000:19:00.0");
  CHECK_FALSE(none.known());
  CHECK_FALSE(none.driver());
  CHECK_FALSE(none.power_limit_w());
  CHECK_FALSE(none.mig());
  CHECK(none.throttle_reasons().empty());

  const DeviceState other(symbols_of(library()), "00000000:20:00.0");
  CHECK_FALSE(other.known());
  CHECK(other.driver() == "580.65.06");
  CHECK_FALSE(other.sm_mhz());

  std::map<std::string, void*> few = library();
  few.erase("nvmlDeviceGetMigMode");
  few.erase("nvmlDeviceGetCurrentClocksThrottleReasons");
  const DeviceState some(symbols_of(few), "00000000:19:00.0");
  CHECK_FALSE(some.mig());
  CHECK(some.ecc() == true);
  CHECK(some.throttle_reasons().empty());
}

// The bits are those of nvmlClocksEventReasons, in NVML's reference manual.
TEST_CASE("device state: every reason has NVML's bit, by the name that newer drivers have for the function") {
  std::map<std::string, void*> functions = library();
  functions["nvmlDeviceGetCurrentClocksEventReasons"] = reinterpret_cast<void*>(held_down);
  const DeviceState state(symbols_of(functions), "00000000:19:00.0");
  const std::map<unsigned long long, std::string> reasons{
      {0x2, "application clocks"}, {0x4, "power cap"},         {0x8, "hardware slowdown"},
      {0x10, "sync boost"},        {0x20, "thermal slowdown"}, {0x40, "hardware thermal slowdown"},
      {0x80, "power brake"},       {0x100, "display clocks"}};
  for (const auto& reason : reasons) {
    one_reason = reason.first;
    CHECK(state.throttle_reasons() == std::vector<std::string>{reason.second});
  }
  one_reason = 0x1;  // idle
  CHECK(state.throttle_reasons().empty());
}

TEST_CASE("device state: what was begun is ended, once") {
  std::map<std::string, void*> functions = library();
  functions["nvmlShutdown"] = reinterpret_cast<void*>(shut_down);
  shutdowns = 0;
  { const DeviceState state(symbols_of(functions), "00000000:20:00.0"); }  // without its device, too
  CHECK(shutdowns == 1);
  functions.erase("nvmlInit_v2");
  { const DeviceState state(symbols_of(functions), "00000000:19:00.0"); }
  CHECK(shutdowns == 1);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
