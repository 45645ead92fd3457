// Reads job metadata from a YAML or JSON file.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/job_metadata.h"

namespace goodput {

// Other keys are ignored: metadata files carry more than we use. Fails on what is no mapping and on sizes
// that are no positive integers, and on hosts, switches and racks that do not map ranks and hosts to names.
Result<JobMetadataFields> read_job_metadata(const std::string& path);

// The file name of `path` without .gz and its extension: runs/trace.csv.gz -> trace.
[[nodiscard]] std::string file_stem(const std::string& path);

// The name of a job whose metadata has none: the stem of its only file, else the name of the folder that
// holds all of `paths`.
[[nodiscard]] std::string job_name(const std::vector<std::string>& paths);

}  // namespace goodput
