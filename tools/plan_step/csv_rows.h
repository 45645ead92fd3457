// Splits CSV text into rows and cells (RFC 4180; lines end in LF or CRLF).
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// The first row of `rest`, without its line end; advances `rest` to the next row. A quoted cell may contain
// line ends. If a quote is never closed, or the row is longer than 64 KiB, the row ends with its line.
[[nodiscard]] std::string_view take_row(std::string_view& rest);

// The cells of a row, without their quotes.
[[nodiscard]] std::vector<std::string> cells_of(std::string_view row);

// The text without the spaces and tabs around it.
[[nodiscard]] std::string_view trimmed(std::string_view text);

}  // namespace goodput
