#include "traces/faults/letter_case.h"

#include <algorithm>
#include <cctype>

#include "sim/base/text.h"

namespace goodput {

std::string in_lower_case(std::string_view text) {
  std::string lower(text);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return lower;
}

bool equals_in_any_case(std::string_view a, std::string_view b) {
  return equals_lower(in_lower_case(a), b);
}

}  // namespace goodput
