// Text in whatever case; of letters A to Z.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

[[nodiscard]] std::string in_lower_case(std::string_view text);
[[nodiscard]] bool equals_in_any_case(std::string_view a, std::string_view b);

}  // namespace goodput
