#include "sim/base/number_ranges.h"

#include <fmt/format.h>

#include "sim/base/text.h"

namespace goodput {

Result<std::vector<NumberRange>> parse_number_ranges(std::string_view text) {
  std::vector<NumberRange> ranges;
  for (const std::string_view part : split(text, ',')) {
    const std::size_t dash = part.find('-', 1);  // a leading one is a sign
    const auto first = parse_integer(part.substr(0, dash));
    const auto last = dash == std::string_view::npos ? first : parse_integer(part.substr(dash + 1));
    if (!first || !last) {
      return Error{
          fmt::format("{} is not a number or a range; write, for example, 12,20-23", in_quotes(part))};
    }
    if (*first > *last)
      return Error{fmt::format("range {} runs backward; write the smaller number first", in_quotes(part))};
    ranges.push_back({*first, *last});
  }
  return ranges;
}

}  // namespace goodput
