// Numbers as a sentence lists them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace goodput {

// "shard 2", "shards 2 and 5", "shards 0-3, 5 and 9"; of very many the first. REQUIRES: numbers that rise, at
// least one.
[[nodiscard]] std::string numbered(std::string_view noun, std::span<const std::uint64_t> numbers);

}  // namespace goodput
