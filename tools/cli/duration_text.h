// Durations for people.
#pragma once

#include <string>

namespace goodput {

// "12.3 s", "15.0 min", "1.20 h", "3.50 days".
[[nodiscard]] std::string duration_text(double seconds);

}  // namespace goodput
