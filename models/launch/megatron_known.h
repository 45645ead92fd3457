// What Megatron-LM's arguments mean for a plan, beside those that are read (megatron_model.h).
#pragma once

#include <string>
#include <string_view>

namespace goodput::launch {

enum class ArgumentEffect {
  kNone,     // on a step: data, logging, checkpoints, learning rate
  kChanges,  // the model, the layout, precision, memory or step time, in a way that plans cannot express
  kNotKnown,
};

// `key`: "log_interval".
[[nodiscard]] ArgumentEffect effect_of_argument(std::string_view key);
// Whether the argument is read and takes one value, or none.
[[nodiscard]] bool is_value_argument(std::string_view key);
[[nodiscard]] bool is_flag_argument(std::string_view key);
// `; did you mean "X"?` for the nearest argument that goodput knows, else empty.
[[nodiscard]] std::string similar_argument(std::string_view key);

}  // namespace goodput::launch
