// Formatting into the end of a text.
#pragma once

#include <fmt/core.h>

#include <string>
#include <utility>

namespace goodput {

void append_formatted(std::string& to, fmt::string_view format, fmt::format_args arguments);

// Appends what fmt::format() returns. fmt::format_to() with a back_inserter does the same, and compiles all
// of fmt's number formatting again in every source.
template <typename... Arguments>
void append(std::string& to, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  append_formatted(to, format, fmt::make_format_args(arguments...));
}

}  // namespace goodput
