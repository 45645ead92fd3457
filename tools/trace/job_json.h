// A job's metadata in the JSON results of commands.
#pragma once

#include "sim/ops/job_metadata.h"

#include "sim/base/json_fwd.h"

namespace goodput {

// What a job was called and how it was cut up.
[[nodiscard]] OrderedJson job_json(const JobMetadata& job);

}  // namespace goodput
