// The page without its results, as the build makes it of page.html, css/, js/, views/ and D3.
#pragma once

#include <string_view>

namespace goodput {

// Where a title and the results go in the template: `@TITLE@` and `@RESULTS@`, each once, in this order.
[[nodiscard]] std::string_view page_template();

}  // namespace goodput
