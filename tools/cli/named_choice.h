// An option whose value is one of a few names.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <span>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/text.h"

namespace goodput {

// The enumerator of this name; `names` in the order of the enumerators.
template <typename Enum>
[[nodiscard]] Result<Enum> choose(std::string_view option, std::string_view name,
                                  std::span<const std::string_view> names) {
  const auto found = std::find(names.begin(), names.end(), name);
  if (found != names.end()) return static_cast<Enum>(found - names.begin());
  return Error{fmt::format("{} is {}, want one of {}{}", option, in_quotes(name), fmt::join(names, ", "),
                           did_you_mean(name, names))};
}

}  // namespace goodput
