// The what-if result in the form of the reference artifact's result files, for comparisons field by field.
#pragma once

#include <string>

#include "sim/ops/job_metadata.h"
#include "sim/whatif/whatif.h"

namespace goodput {

// The keys of the artifact's result.json, plus `mw` and `ms` (its mw.json and ms.json). A family below the
// threshold is null, as are shares that are not defined.
[[nodiscard]] std::string compat_json(const WhatIf& result, const JobMetadata& job,
                                      double decompose_threshold);

}  // namespace goodput
