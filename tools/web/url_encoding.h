// Percent-encoded text, as in the target of a request and in the body of a form. Strict: damaged sequences,
// text that is not UTF-8 and control characters are refused.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace goodput {

enum class Plus : std::uint8_t { kItself, kSpace };
enum class LineBreaks : std::uint8_t { kRefused, kAllowed };  // kAllowed: tabs, too

// UTF-8 without control characters, but for line breaks that are allowed.
[[nodiscard]] bool is_plain_text(std::string_view text, LineBreaks line_breaks = LineBreaks::kRefused);

// Nothing: it is refused.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, Plus plus,
                                                         LineBreaks line_breaks = LineBreaks::kRefused);

using EncodedPairs = std::vector<std::pair<std::string, std::string>>;

// {{"a", "1"}, {"b", ""}} of "a=1&b", decoded. Nothing: it is refused, or has more than `most` pairs.
[[nodiscard]] std::optional<EncodedPairs> parse_pairs(std::string_view text, std::size_t most,
                                                      LineBreaks line_breaks = LineBreaks::kRefused);

}  // namespace goodput
