// The arithmetic of $((...)): whole numbers, names, + - * / %, comparisons, ?: and parentheses.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace goodput::launch {

// None: a name without value, a division by zero, an overflow, or a syntax beyond the above.
[[nodiscard]] std::optional<std::int64_t> shell_arithmetic(
    std::string_view text, const std::function<std::optional<std::int64_t>(const std::string&)>& value_of);

}  // namespace goodput::launch
