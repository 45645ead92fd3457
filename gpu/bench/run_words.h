// What every program here says of a run. Host only.
#pragma once

#include <ctime>
#include <string>

namespace goodput::gpu::bench {

inline constexpr const char* kEmulatedNote = "emulated: times are meaningless";

// "2026-01-31T23:59:59Z"
[[nodiscard]] inline std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
  return text;
}

}  // namespace goodput::gpu::bench
