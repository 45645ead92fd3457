// Finds where strings and values of JSON text end. Knows strings and nesting only: whether the text is JSON
// is for a parser to say.
#pragma once

namespace goodput {

// The first quote or backslash of [at, end), or `end`.
[[nodiscard]] const char* find_quote_or_backslash(const char* at, const char* end);

// Behind the bracket that closes the one at `at`; null if there is none in [at, end).
[[nodiscard]] const char* behind_brackets(const char* at, const char* end);

// Where the scan of an array's element, or of an object's value, stands.
struct JsonScan {
  int depth = 0;
  bool in_string = false;
  bool escaped = false;  // the next character of the string is escaped
  bool started = false;  // a character other than white space was seen

  // Whether an element has begun and no bracket or string of it is open.
  [[nodiscard]] bool is_whole() const { return started && depth <= 0 && !in_string; }

  // Goes on to the first character of [at, end) that ends the element it is in: a comma or a closing bracket
  // at depth 0, or an opening one deeper than `max_depth`. Returns `end` when there is none.
  const char* advance(const char* at, const char* end, int max_depth);
};

}  // namespace goodput
