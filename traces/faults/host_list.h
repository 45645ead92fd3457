// Names of nodes in Slurm's short form: n[001-057,059],login1.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

// All names, in the order of the text. Errors have no place. Refuses more than a million names.
Result<std::vector<std::string>> expand_host_list(std::string_view text);

}  // namespace goodput
