// What the tests of this folder share: launching a kernel to its end, the text of its error, schedules.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "tests/simt/cuda_runtime.h"

namespace simt {

inline constexpr unsigned kFull = 0xffffffffU;  // all lanes of a warp

template <class... Expected, class... Actual>
void run_kernel(void (*kernel)(Expected...), LaunchShape shape, Actual&&... arguments) {
  cudaLaunchConfig_t config{};
  config.gridDim = shape.grid;
  config.blockDim = shape.block;
  config.dynamicSmemBytes = shape.shared_bytes;
  const cudaError_t error = cudaLaunchKernelEx(&config, kernel, std::forward<Actual>(arguments)...);
  if (error != cudaSuccess) throw std::logic_error(cudaGetErrorName(error));
  cudaDeviceSynchronize();
}

template <class Call>
std::string error_of(Call call) {
  try {
    call();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "no error";
}

inline std::string at_line(int line, const char* file = __builtin_FILE()) {
  return std::string("(") + file + ":" + std::to_string(line) + ")";
}

inline std::vector<Schedule> schedules() {
  std::vector<Schedule> all = {{Order::kAscending, 0}, {Order::kDescending, 0}};
  for (std::uint64_t seed = 1; seed <= 6; ++seed) all.push_back({Order::kRandom, seed});
  return all;
}

// Puts the ascending order back.
class ScheduleScope {
 public:
  explicit ScheduleScope(Schedule schedule) { set_schedule(schedule); }
  ~ScheduleScope() { set_schedule({}); }
  ScheduleScope(const ScheduleScope&) = delete;
  ScheduleScope& operator=(const ScheduleScope&) = delete;
};

}  // namespace simt
