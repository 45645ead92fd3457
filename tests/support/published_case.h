// The published answers of the reference artifact on real traces, where they are to be had
// (GOODPUT_SHARED_DATA/ndtimeline), and the comparison with somebody's answers.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "tests/reference/reference_whatif.h"

namespace goodput::testing {

// The folder of a case: trace.csv.gz and more. Empty, with a "skipped" message, when there is no shared data
// here.
[[nodiscard]] std::filesystem::path published_case(const std::string& name);

using OpTimesByInstance = std::map<reference::OpInstance, reference::OpTimes>;

struct Answers {
  reference::Dependencies dependencies;
  OpTimesByInstance op_times;
  std::map<int, int> dp_rank_of;  // by global rank
  std::string compat_json;        // job_meta is not looked at
};

// deps.json equal, per_op.csv.gz within 1 us, result.json within 1e-4, mw.json and ms.json also within 1e-6
// absolute.
void check_published_answers(const std::filesystem::path& folder, const Answers& answers);

}  // namespace goodput::testing
