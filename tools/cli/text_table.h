// Columns of text for people.
#pragma once

#include <string>
#include <vector>

namespace goodput {

using TextRow = std::vector<std::string>;

// A line a row: the first column begins at the left, the others end at the right, two spaces apart, and no
// line ends in spaces. Rows may be shorter than others. REQUIRES: text is ASCII or one column a code point.
[[nodiscard]] std::string aligned(const std::vector<TextRow>& rows);

}  // namespace goodput
