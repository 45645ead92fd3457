// Options that only failure models have: values that may be missing, durations in seconds, lists.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.h"
#include "sim/config/config.h"

namespace goodput {

inline constexpr double kMostFailureSeconds = 1e9;  // of any duration: 32 years

[[nodiscard]] config::Value optional_number(std::optional<double>& value, const config::Range& range);
[[nodiscard]] config::Value optional_integer(std::optional<std::int32_t>& value, std::int64_t least,
                                             std::int64_t most);
[[nodiscard]] config::Value seconds_value(SimDuration& value, const config::Range& range);
[[nodiscard]] config::Value seconds_value(std::optional<SimDuration>& value, const config::Range& range);

// `names` in the order of the enumerators. Left out where there is none.
template <typename Enum>
[[nodiscard]] config::Value optional_choice(std::optional<Enum>& value,
                                            std::span<const std::string_view> names) {
  config::Value choice =
      config::choice([&value] { return static_cast<std::size_t>(value.value_or(Enum{})); },
                     [&value](std::size_t index) { value = static_cast<Enum>(index); }, names);
  const auto write = std::move(choice.write);
  choice.write = [&value, write](OrderedJson& into) {
    if (value) write(into);
  };
  return choice;
}

}  // namespace goodput
