// A job's metadata in the JSON results of commands.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "traces/op/job_metadata.h"

namespace goodput {

// What a job was called and how it was cut up.
[[nodiscard]] nlohmann::ordered_json job_json(const JobMetadata& job);

}  // namespace goodput
