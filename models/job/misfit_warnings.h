// What is said of a plan that needs more memory than its GPUs have.
#pragma once

#include <string>
#include <vector>

#include "models/step/memory_model.h"
#include "sim/base/errors.h"

namespace goodput {

// At most one; none of a plan of which nobody knows.
[[nodiscard]] std::vector<std::string> misfit_warnings(const Result<MemoryReport>& memory);

}  // namespace goodput
