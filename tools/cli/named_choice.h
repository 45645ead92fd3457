// An option whose value is one of a few names.
#pragma once

#include <span>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/registry.h"

namespace goodput {

// The enumerator of this name, the value of `option` ("sharding"); `names` of the `kind` in the order of the
// enumerators.
template <typename Enum>
[[nodiscard]] Result<Enum> choose(std::string_view option, std::string_view kind, std::string_view name,
                                  std::span<const std::string_view> names) {
  const Result<std::size_t> found = index_of_name(names, kind, name);
  if (!found) return found.error().of_option(option);
  return static_cast<Enum>(*found);
}

}  // namespace goodput
