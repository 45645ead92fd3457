#include "gpu/calibrate/device_state.h"

#include <dlfcn.h>

#include <utility>

namespace goodput::gpu::calibrate {
namespace {

// Numbers of NVML's interface (its reference manual).
constexpr int kSuccess = 0;
constexpr unsigned kSmClock = 1;
constexpr unsigned kMemoryClock = 2;
constexpr unsigned kDriverTextBytes = 80;

struct ThrottleReason {
  unsigned long long bit;
  const char* name;
};
constexpr ThrottleReason kReasons[] = {
    {0x2, "application clocks"}, {0x4, "power cap"},         {0x8, "hardware slowdown"},
    {0x10, "sync boost"},        {0x20, "thermal slowdown"}, {0x40, "hardware thermal slowdown"},
    {0x80, "power brake"},       {0x100, "display clocks"},
};

}  // namespace

template <class... Arguments>
bool DeviceState::ask(const char* name, Arguments... arguments) const {
  void* const address = symbols_ ? symbols_(name) : nullptr;
  if (address == nullptr) return false;
  return reinterpret_cast<int (*)(Arguments...)>(address)(arguments...) == kSuccess;
}

DeviceState::DeviceState(Symbols symbols, const std::string& bus_id) : symbols_(std::move(symbols)) {
  begun_ = ask("nvmlInit_v2");
  if (begun_ && !ask("nvmlDeviceGetHandleByPciBusId_v2", bus_id.c_str(), &device_)) device_ = nullptr;
}

DeviceState::DeviceState(const std::string& bus_id)
    : DeviceState([library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL)](
                      const char* name) { return library == nullptr ? nullptr : dlsym(library, name); },
                  bus_id) {}

// The library stays: drivers have threads of their own in it.
DeviceState::~DeviceState() {
  if (begun_) static_cast<void>(ask("nvmlShutdown"));
}

std::optional<std::string> DeviceState::driver() const {
  char text[kDriverTextBytes] = {};
  if (!begun_ || !ask("nvmlSystemGetDriverVersion", static_cast<char*>(text), kDriverTextBytes))
    return std::nullopt;
  return text;
}

std::optional<double> DeviceState::number(const char* name, double unit) const {
  unsigned value = 0;
  if (!known() || !ask(name, device_, &value) || value == 0) return std::nullopt;
  return value * unit;
}

std::optional<double> DeviceState::clock_mhz(unsigned clock) const {
  unsigned mhz = 0;
  if (!known() || !ask("nvmlDeviceGetClockInfo", device_, clock, &mhz) || mhz == 0) return std::nullopt;
  return mhz;
}

std::optional<bool> DeviceState::mode(const char* name) const {
  unsigned current = 0;
  unsigned pending = 0;
  if (!known() || !ask(name, device_, &current, &pending)) return std::nullopt;
  return current != 0;
}

std::optional<double> DeviceState::power_limit_w() const {
  return number("nvmlDeviceGetEnforcedPowerLimit", 1e-3);
}
std::optional<double> DeviceState::power_w() const {
  return number("nvmlDeviceGetPowerUsage", 1e-3);
}
std::optional<double> DeviceState::sm_mhz() const {
  return clock_mhz(kSmClock);
}
std::optional<double> DeviceState::memory_mhz() const {
  return clock_mhz(kMemoryClock);
}
std::optional<bool> DeviceState::ecc() const {
  return mode("nvmlDeviceGetEccMode");
}
std::optional<bool> DeviceState::mig() const {
  return mode("nvmlDeviceGetMigMode");
}

std::vector<std::string> DeviceState::throttle_reasons() const {
  unsigned long long bits = 0;
  std::vector<std::string> reasons;
  // The second is what drivers before 535 call it.
  if (!known() || (!ask("nvmlDeviceGetCurrentClocksEventReasons", device_, &bits) &&
                   !ask("nvmlDeviceGetCurrentClocksThrottleReasons", device_, &bits)))
    return reasons;
  for (const ThrottleReason& reason : kReasons) {
    if ((bits & reason.bit) != 0) reasons.emplace_back(reason.name);
  }
  return reasons;
}

}  // namespace goodput::gpu::calibrate
