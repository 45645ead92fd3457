// Choices of software by the names that frameworks give them.
#pragma once

#include <string_view>

namespace goodput::launch {

// A plan's fp8_recipe for "delayed", "tensorwise", "rowwise", "blockwise", "mxfp8"; empty: unknown.
[[nodiscard]] std::string_view fp8_recipe_named(std::string_view name);

}  // namespace goodput::launch
