// Lists as Megatron-LM's arguments write them in Python, and its layouts of pipelines.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

namespace goodput::launch {

// "([0]*3+[1]*58)", "[1,0,1]". None: another syntax, or more than 10000 elements.
[[nodiscard]] std::optional<std::vector<std::int64_t>> list_of_integers(std::string_view text);

// Numbers of decoder layers (t) in the parts of "Ettt|(tt|)*29mL": E, L and m (embedding, loss and
// multi-token prediction) count as none. None: another syntax, or more than 10000 parts.
[[nodiscard]] std::optional<std::vector<std::int32_t>> layers_of_layout(std::string_view text);

}  // namespace goodput::launch
