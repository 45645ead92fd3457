// Text of a picture in SVG.
#pragma once

#include <string>
#include <string_view>

namespace goodput {

// No markup, whatever it is: &, < and > escaped, without the control characters that XML does not have.
[[nodiscard]] std::string svg_text(std::string_view text);

}  // namespace goodput
