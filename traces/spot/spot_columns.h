// The header line of the neutral spot CSVs: columns by name, in any order.
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

inline constexpr std::string_view kSpotTimeColumn = "t_s";

// The names in the first line of a file that begins with `head`; none where it is no CSV.
[[nodiscard]] std::vector<std::string_view> spot_header(std::string_view head);

// For every column of the header the place of its name in `known`. Unknown and repeated columns fail; the
// Error has no place.
Result<std::vector<std::size_t>> parse_spot_header(std::string_view line,
                                                   std::span<const std::string_view> known);

// The fields of a line by the places of their columns; `absent` for columns that the header lacks. Fails
// when there are more or fewer fields than columns.
Status split_spot_row(std::string_view line, std::span<const std::size_t> columns,
                      std::span<std::string_view> fields);

}  // namespace goodput
