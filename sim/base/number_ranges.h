// Lists of numbers and ranges, as people write them on the command line.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// Numbers first .. last, both included.
struct NumberRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};

// A list such as `12,20-23`; numbers may be negative. The Error has no place.
Result<std::vector<NumberRange>> parse_number_ranges(std::string_view text);

}  // namespace goodput
