// Removes large offsets between the clocks of gloo ranks before collectives are matched. Matching needs it:
// gloo does not name process groups, and times only reveal them if the clocks agree within milliseconds.
#pragma once

#include <string>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "sim/base/errors.h"

namespace goodput {

// Removes offsets of more than 5 ms and notes each. Within a lane it compares the fastest messages in both
// directions, which take about the same time. Between lanes it takes the median over collectives: ranks of
// one slot end them at the same time, or by chance earlier or later.
Status align_roughly(JoinedRanks& joined, std::vector<std::string>& notes);

}  // namespace goodput
