// Finds the files of a job in a folder, by the rules of `goodput monitor`, for programs that read them once.
#pragma once

#include <string>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// The path of the job metadata in `folder`, its meta.yaml. Empty: there is none.
[[nodiscard]] std::string metadata_in(const std::string& folder);

struct JobFolder {
  std::vector<std::string> traces;    // also empty files; sorted by log, the oldest part of each first
  std::vector<std::string> metadata;  // the folder's own, else all that its sub-folders have
  std::vector<std::string> others;    // files that are not op traces
  std::vector<std::string> warnings;  // links that lead out, folders that cannot be read
};

// Looks into all sub-folders, but not at hidden and temporary files. A file that is named like a log or a CSV
// is also a trace if fault_of_text() knows what to do about its text, and always if `takes_any_text`.
Result<JobFolder> find_job_files(const std::string& folder, bool takes_any_text);

}  // namespace goodput
