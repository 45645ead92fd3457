// Values of a config file that may be left unstated: 0, an empty text and the first enumerator stand for
// that, and are not written.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "sim/base/json_fwd.h"
#include "sim/config/config.h"

namespace goodput::stated {

inline constexpr std::int64_t kMostCounted = 1'000'000'000'000'000;

template <typename T>
[[nodiscard]] config::Value unless(T& value, T unstated, config::Value how) {
  how.write = [&value, unstated, write = std::move(how.write)](OrderedJson& into) {
    if (value != unstated) write(into);
  };
  return how;
}

[[nodiscard]] config::Value count(std::int64_t& value, std::int64_t most = kMostCounted);
[[nodiscard]] config::Value positive(double& value);
[[nodiscard]] config::Value not_negative(double& value);
[[nodiscard]] config::Value text(std::string& value);
[[nodiscard]] config::Value flag(bool& value);                 // false: unstated
[[nodiscard]] config::Value flag(std::optional<bool>& value);  // false is stated

// `names` of the enumerators behind the first one.
template <typename Enum>
[[nodiscard]] config::Value choice(Enum& value, std::span<const std::string_view> names) {
  const auto get = [&value] { return static_cast<std::size_t>(value) - 1; };
  const auto set = [&value](std::size_t index) { value = static_cast<Enum>(index + 1); };
  return unless(value, Enum{}, config::choice(get, set, names));
}

}  // namespace goodput::stated
