// What an import tells the user.
#pragma once

#include <string>
#include <vector>

#include "models/launch/import_launch.h"

namespace goodput {

// The answer in one sentence: "pretrain.sh trains ... on 1024 GPUs with DP 64 x PP 4 ...".
[[nodiscard]] std::string import_sentence(const launch::ImportedLaunch& imported,
                                          const std::vector<std::string>& files);
// One per warning, with its place.
[[nodiscard]] std::vector<std::string> warning_lines(const launch::ImportedLaunch& imported);
// "Assumed: cluster dgx-h100 (launch files do not name the machines), ..."
[[nodiscard]] std::string assumed_line(const launch::ImportedLaunch& imported);
[[nodiscard]] std::string import_report(const launch::ImportedLaunch& imported,
                                        const std::vector<std::string>& files);

}  // namespace goodput
