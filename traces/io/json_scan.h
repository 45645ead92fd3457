// Finds where strings and values of JSON text end. Looks only at strings and nesting, and does not check
// whether the text is JSON.
#pragma once

namespace goodput {

// The first quote or backslash of [at, end), or `end`.
[[nodiscard]] const char* find_quote_or_backslash(const char* at, const char* end);

// The character after the bracket that closes the one at `at`; null if it is not in [at, end).
[[nodiscard]] const char* behind_brackets(const char* at, const char* end);

// The state of a scan through an array's element or an object's value.
struct JsonScan {
  int depth = 0;
  bool in_string = false;
  bool escaped = false;  // the next character of the string is escaped
  bool started = false;  // a character other than white space was seen

  // Whether an element has begun and no bracket or string of it is open.
  [[nodiscard]] bool is_whole() const { return started && depth <= 0 && !in_string; }

  // Scans [at, end) for the first character that ends the element: a comma or closing bracket at depth 0, or
  // an opening bracket deeper than `max_depth`. Returns it, or `end` if there is none.
  const char* advance(const char* at, const char* end, int max_depth);
};

}  // namespace goodput
