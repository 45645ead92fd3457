// An option whose value is one of a few names.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/base/registry.h"

namespace goodput {

// `error` is about the value of `option`, "--sharding".
[[nodiscard]] inline Error error_of(std::string_view option, const Error& error) {
  return Error{error.where, std::string(option) + ": " + error.what};
}

// The enumerator of this name; `names` of the `kind` in the order of the enumerators.
template <typename Enum>
[[nodiscard]] Result<Enum> choose(std::string_view option, std::string_view kind, std::string_view name,
                                  std::span<const std::string_view> names) {
  const Result<std::size_t> found = index_of_name(names, kind, name);
  if (!found) return error_of(option, found.error());
  return static_cast<Enum>(*found);
}

}  // namespace goodput
