// What the driver's management library (NVML, libnvidia-ml.so.1) tells of a device and the CUDA runtime does
// not. It is opened at run time; where there is none, or it does not know, nothing is told. Nothing is set.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace goodput::gpu::calibrate {

class DeviceState {
 public:
  // The address of a function of the library; null: it has none of that name.
  using Symbols = std::function<void*(const char* name)>;

  // `bus_id`: "00000000:19:00.0", as the runtime has it. Of the library of this machine.
  explicit DeviceState(const std::string& bus_id);
  // Of another one, for tests. No symbols: there is no library.
  DeviceState(Symbols symbols, const std::string& bus_id);
  DeviceState(DeviceState&&) = delete;
  DeviceState& operator=(DeviceState&&) = delete;
  ~DeviceState();

  [[nodiscard]] bool known() const { return device_ != nullptr; }
  // "580.65.06"
  [[nodiscard]] std::optional<std::string> driver() const;
  [[nodiscard]] std::optional<double> power_limit_w() const;
  [[nodiscard]] std::optional<bool> ecc() const;
  [[nodiscard]] std::optional<bool> mig() const;
  // Of this moment.
  [[nodiscard]] std::optional<double> power_w() const;
  [[nodiscard]] std::optional<double> sm_mhz() const;
  [[nodiscard]] std::optional<double> memory_mhz() const;
  // Why clocks are held down right now: "power cap". Being idle is no reason.
  [[nodiscard]] std::vector<std::string> throttle_reasons() const;

 private:
  // Whether the library has that function and it answered.
  template <class... Arguments>
  [[nodiscard]] bool ask(const char* name, Arguments... arguments) const;
  [[nodiscard]] std::optional<double> number(const char* name, double unit) const;
  [[nodiscard]] std::optional<double> clock_mhz(unsigned clock) const;
  [[nodiscard]] std::optional<bool> mode(const char* name) const;

  Symbols symbols_;
  void* device_ = nullptr;  // of the library
  bool begun_ = false;
};

}  // namespace goodput::gpu::calibrate
