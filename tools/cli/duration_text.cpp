#include "tools/cli/duration_text.h"

#include <fmt/format.h>

namespace goodput {

std::string duration_text(double seconds) {
  if (seconds < 180) return fmt::format("{:.1f} s", seconds);
  if (seconds < 3 * 3600) return fmt::format("{:.1f} min", seconds / 60);
  if (seconds < 3 * 86400) return fmt::format("{:.2f} h", seconds / 3600);
  return fmt::format("{:.2f} days", seconds / 86400);
}

}  // namespace goodput
