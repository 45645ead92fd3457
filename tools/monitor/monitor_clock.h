// The two clocks of a monitor.
#pragma once

#include <chrono>

namespace goodput {

// Unix time as the machine has it now: for what people and other machines read. It can jump.
[[nodiscard]] inline double wall_time_s() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// Seconds that never jump, of unknown origin: for waiting.
[[nodiscard]] inline double steady_time_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace goodput
