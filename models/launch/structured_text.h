// YAML, TOML and JSON as settings: the value at a: {b: 1} has the key "a.b".
#pragma once

#include <string>

#include "models/launch/settings.h"
#include "sim/base/errors.h"

namespace goodput::launch {

// Errors: syntax ("FILE:LINE:COLUMN: is not valid YAML: ..."), absurd nesting, a root that is not a mapping.
Result<Settings> yaml_settings(const std::string& text, const std::string& file);
Result<Settings> toml_settings(const std::string& text, const std::string& file);
Result<Settings> json_settings(const std::string& text, const std::string& file);

}  // namespace goodput::launch
