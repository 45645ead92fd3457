// A JSON file, for tests.
#pragma once

#include <filesystem>

#include "sim/base/json.h"

namespace goodput::testing {

// Throws where Json::parse() does; a file that is not there is empty text.
[[nodiscard]] Json read_json(const std::filesystem::path& file);

}  // namespace goodput::testing
