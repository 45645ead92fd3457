// JSON results of commands: the keys they all begin with, and where they go.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "sim/errors.h"
#include "tools/command.h"

namespace goodput {

// {"schema": "goodput.<name>/1", "version": ..., "seed": ...}; the command adds the rest.
[[nodiscard]] nlohmann::ordered_json begin_json_result(std::string_view name, const CommandContext& context);

// Where --json says: nowhere, stdout, or a file that is written whole or not at all.
Status write_json_result(const nlohmann::ordered_json& result, const CommandContext& context);

}  // namespace goodput
