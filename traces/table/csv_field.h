// A field of a CSV file.
#pragma once

#include <string>

namespace goodput {

// In quotes where it has to be (RFC 4180).
[[nodiscard]] std::string csv_field(const std::string& text);

}  // namespace goodput
