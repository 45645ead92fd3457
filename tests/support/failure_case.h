// Failure models by what a scenario says of them.
#pragma once

#include <string_view>
#include <vector>

#include "models/failure/failure_models.h"

namespace goodput::testing {

// The value of "failures" in a scenario: an object or an array. Throws where it is not accepted.
[[nodiscard]] std::vector<FailureConfig> failures_from(std::string_view json);

}  // namespace goodput::testing
