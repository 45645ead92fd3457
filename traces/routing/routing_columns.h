// The columns of routing traces in CSV, and the numbers in them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "traces/io/csv_lines.h"

namespace goodput {

inline constexpr std::size_t kRoutingBlockBytes = std::size_t{1} << 20;  // no line may be longer

enum class RoutingColumn : std::uint8_t {
  kIteration,
  kLayer,
  kRank,
  kMicroBatch,
  kExpert,  // long: the expert that the row is about
  kTokens,  // long: its tokens
  kLoad     // wide: the tokens of one expert, a column each: e0, e1, ...
};

struct RoutingField {
  RoutingColumn column = RoutingColumn::kLoad;
  std::size_t expert = 0;  // of a kLoad
};

// The columns of a header line that begins `head`, as far as they have a name of ours.
[[nodiscard]] std::vector<RoutingField> known_routing_columns(std::string_view head);

// What each field of a line is. `known` columns must all be there but for rank and micro_batch; an unknown or
// repeated column fails. The Error has no place.
Result<std::vector<RoutingField>> parse_routing_header(std::string_view line,
                                                       std::span<const RoutingColumn> known);

// The next field as a number from 0 to `most`: an integer, or one with a fraction of zeros as data frames
// write counts (12.0, up to 2^53); quoted or not. The Error has no place.
Result<std::int64_t> take_number(CsvFields& fields, const RoutingField& field, std::int64_t most);

// `9 fields, but the header names 34 columns`
[[nodiscard]] Error wrong_field_count(std::string_view line, std::size_t columns);

}  // namespace goodput
