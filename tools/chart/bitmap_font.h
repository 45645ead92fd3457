// Letters for pictures that are made of pixels: printable ASCII, 5 x 9 pixels a letter, drawn for this
// project.
#pragma once

#include <cstddef>

namespace goodput::bitmap_font {

inline constexpr std::size_t kWidth = 5;
inline constexpr std::size_t kHeight = 9;  // capitals and digits take the first kAscent rows
inline constexpr std::size_t kAscent = 7;
inline constexpr std::size_t kAdvance = 6;  // from one letter to the next

// Whether the letter has ink at (column, row). What is no printable ASCII looks like a question mark.
[[nodiscard]] bool has_ink(char letter, std::size_t column, std::size_t row);

}  // namespace goodput::bitmap_font
