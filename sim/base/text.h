// Text that people write and read: cutting it up, quoting it, suggestions for misspelt names.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace goodput {

// The parts between separators: one more than there are separators, some perhaps empty.
[[nodiscard]] std::vector<std::string_view> split(std::string_view text, char separator);

// The whole of `text` as a decimal integer, or nothing.
[[nodiscard]] std::optional<std::int64_t> parse_integer(std::string_view text);

// The whole of `text` as a finite decimal number, or nothing.
[[nodiscard]] std::optional<double> parse_number(std::string_view text);

// Insertions, deletions, substitutions and swaps of neighbours that turn `a` into `b`.
[[nodiscard]] std::size_t edit_distance(std::string_view a, std::string_view b);

// `; did you mean "X"?` for the nearest candidate within a third of the length, else the empty string.
[[nodiscard]] std::string did_you_mean(std::string_view name, std::span<const std::string_view> candidates);

// `name` in double quotes, shortened when long and with control characters escaped: safe in one line of
// output.
[[nodiscard]] std::string in_quotes(std::string_view name);

// `text` with control characters escaped: safe on a terminal, whatever file names it quotes.
[[nodiscard]] std::string on_one_line(std::string_view text);

// What is wrong with a name that users gave to something of theirs; empty: nothing is.
[[nodiscard]] std::string fault_of_name(std::string_view name);

// Whether `text` is `lower`, which is in lower case, in whatever case; of letters A to Z.
[[nodiscard]] bool equals_lower(std::string_view lower, std::string_view text);

}  // namespace goodput
