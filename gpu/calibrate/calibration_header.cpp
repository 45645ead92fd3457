#include "gpu/calibrate/calibration_header.h"

#include <cmath>
#include <cstdio>

#include "gpu/bench/machine.h"
#include "gpu/calibrate/journal.h"
#include "gpu/calibrate/stopping_rule.h"
#include "gpu/device.h"

namespace goodput::gpu::calibrate {
namespace {

using Object = JsonValue::Object;

cudaDeviceProp properties_of_device() {
  int device = 0;
  GOODPUT_CUDA(cudaGetDevice(&device));
  cudaDeviceProp properties;
  GOODPUT_CUDA(cudaGetDeviceProperties(&properties, device));
  return properties;
}

template <class T>
void add_known(const char* name, const std::optional<T>& value, Object& object) {
  if (value) object.emplace_back(name, JsonValue(JsonValue::Content(*value)));
}

JsonValue number(double value) {
  return JsonValue(JsonValue::Content(value));
}
JsonValue text(const std::string& value) {
  return JsonValue(JsonValue::Content(value));
}

JsonValue machine_of(const HeaderFacts& facts, const DeviceState& state) {
  constexpr double kGib = 1024.0 * 1024.0 * 1024.0;
  const bench::Machine machine = bench::read_machine();
  const auto memory = static_cast<double>(properties_of_device().totalGlobalMem);
  Object object{{"gpu", text(machine.gpu)}};
  if (facts.gpus > 0) object.emplace_back("gpus", number(facts.gpus));
  object.emplace_back("sm", number(machine.multiprocessors));
  object.emplace_back("hbm_gib", number(std::round(memory / kGib * 100) / 100));
  object.emplace_back("driver",
                      text(state.driver().value_or("CUDA " + version_text(machine.driver_version))));
  object.emplace_back("cuda", text(version_text(machine.runtime_version)));
  if (!facts.nccl.empty()) object.emplace_back("nccl", text(facts.nccl));
  object.emplace_back("memory_mhz", number(machine.memory_clock_khz / 1e3));
  add_known("power_w", state.power_limit_w(), object);
  add_known("ecc", state.ecc(), object);
  add_known("mig", state.mig(), object);
  return JsonValue(object);
}

JsonValue method_of(Sizes sizes) {
  return JsonValue(Object{
      {"timer",
       text("CUDA events around replays of a graph with about 1 ms of runs, or around a single longer run; "
            "the value of a point is the median of the medians of its rounds; n counts all samples")},
      {"caches", text("inputs rotate over 256 MB or 16 places: data of runs that move less than 16 MB stays "
                      "in the L2 cache, except for copies within the device; schedules stay in it too, and "
                      "host copies stay in caches of the host")},
      {"stop", text(bench::describe(rule_for(sizes)))}});
}

}  // namespace

std::string bus_id() {
  const cudaDeviceProp properties = properties_of_device();
  char id[32];
  std::snprintf(id, sizeof id, "%08X:%02X:%02X.0", static_cast<unsigned>(properties.pciDomainID),
                static_cast<unsigned>(properties.pciBusID), static_cast<unsigned>(properties.pciDeviceID));
  return id;
}

JsonValue calibration_header(const HeaderFacts& facts, const DeviceState& state) {
  JsonValue::Array arguments;
  for (const std::string& argument : facts.arguments) arguments.push_back(text(argument));
  return JsonValue(Object{{"schema", text(kJournalSchema)},
                          {"tier", text(facts.tier)},
                          {"machine", machine_of(facts, state)},
                          {"method", method_of(facts.sizes)},
                          {"revision", text(facts.revision)},
                          {"argv", JsonValue(arguments)},
                          {"utc", text(facts.date)}});
}

std::vector<std::string> machine_notes(const DeviceState& state) {
  std::vector<std::string> notes;
  if (state.mig().value_or(false)) {
    notes.emplace_back("MIG is on: only a part of the GPU was measured");
  }
  if (!state.known())
    notes.emplace_back("NVML is not available: clocks are measured by a probe kernel, power is not measured");
  return notes;
}

}  // namespace goodput::gpu::calibrate
