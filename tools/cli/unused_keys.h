// Keys of config files that move nothing, for people and for programs.
#pragma once

#include <string>
#include <vector>

#include "sim/base/json_fwd.h"
#include "sim/config/config.h"

namespace goodput {

// "/routing/skew has no effect: there is a model", each with its file where that is not `file`.
[[nodiscard]] std::vector<std::string> unused_key_lines(const config::UnusedKeys& keys,
                                                        const std::string& file);
// The same as "warning: ..." and a line break each.
[[nodiscard]] std::string unused_keys_text(const config::UnusedKeys& keys, const std::string& file);

// [{file, pointer, why}].
[[nodiscard]] OrderedJson unused_keys_json(const config::UnusedKeys& keys);

}  // namespace goodput
