// Why a figure moved, as far as results know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tools/check/run_figures.h"

namespace goodput {

// What differs in what the run rests on (its config, its calibration, the program), then the parts that moved
// most, a line each.
[[nodiscard]] std::vector<std::string> reasons(const RunOrigin& origin,
                                               const std::map<std::string, Parts>& parts,
                                               const RunFigures& now, const std::string& policy);

}  // namespace goodput
