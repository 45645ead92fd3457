// The text of a config file as JSON: what nlohmann lets pass in silence is an error here.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "sim/base/errors.h"

namespace goodput::config {

// Fails on what is not readable, no JSON ("FILE:LINE:COLUMN: ..."), nested absurdly, or has a key twice in an
// object ("FILE /json/pointer: ...").
Result<nlohmann::json> parse_file(const std::string& file);

}  // namespace goodput::config
