// A bound on the nesting of YAML text before yaml-cpp reads it, which recurses once per level.
#pragma once

#include <cstddef>
#include <string_view>

namespace goodput {

inline constexpr int kDeepestYaml = 64;

// Brackets open at once, and "- - - x", which nests a level per dash: what bounds how deep the parser
// recurses on one line. Indented nesting takes a quadratic number of bytes and is bounded by the size of the
// file.
[[nodiscard]] bool is_nested_too_deeply(std::string_view yaml);

}  // namespace goodput
