// Data types by the names that benchmarks have for them.
#pragma once

#include <optional>
#include <string_view>

#include "models/cost/calibration.h"

namespace goodput {

// "bfloat16", "__nv_bfloat16", "CUDA_R_16BF", "half", "torch.float16", "f8e4m3", ...; nothing: another type.
[[nodiscard]] std::optional<MeasuredType> measured_type_of(std::string_view name);

}  // namespace goodput
