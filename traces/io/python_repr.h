// Reads values that Python printed with repr(): numbers, strings, lists, dictionaries, calls.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

namespace goodput {

// A place in a line of text. Reading functions return nothing, and stay where they are, when something else
// is there.
class PythonCursor {
 public:
  explicit PythonCursor(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t position() const { return position_; }
  [[nodiscard]] std::string_view rest() const { return text_.substr(position_); }

  // Steps over exactly `literal`.
  bool accept(std::string_view literal);

  std::optional<std::int64_t> integer();

  // An int or a float, nan and inf included. Nothing for numbers beyond a double.
  std::optional<double> number();

  // 'text' or "text": what stands between the quotes, escapes as they are.
  std::optional<std::string_view> string();

  // A name: letters, digits, underscores.
  std::optional<std::string_view> name();

  // Steps over any value, to the first of `stops` outside strings and brackets. False when there is none,
  // when brackets do not match or when they are nested deeper than 64 levels.
  bool skip_to(std::string_view stops);

 private:
  std::string_view text_;
  std::size_t position_ = 0;
};

}  // namespace goodput
