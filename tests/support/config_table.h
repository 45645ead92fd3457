// What docs say of a config file, made from its fields.
#pragma once

#include <string>

#include "sim/config/config.h"

namespace goodput::config {

// A markdown table of the fields: key (pointers for those of nested objects), limits, default, meaning. Fills
// in optional objects.
[[nodiscard]] std::string describe(const Fields& fields);

}  // namespace goodput::config
