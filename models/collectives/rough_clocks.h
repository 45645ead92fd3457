// Large offsets between the clocks of ranks, before it is known which parts are one collective: gloo names no
// groups, and the times that tell them have to be of one clock within milliseconds.
#pragma once

#include <string>
#include <vector>

#include "models/collectives/joined_ranks.h"
#include "sim/base/errors.h"

namespace goodput {

// Takes off offsets of more than 5 ms, each with a note. Within a lane by messages: none is received before
// it was sent, in both directions. Between lanes by collectives: those of equal ranks end at the same time,
// or else by chance earlier or later.
Status align_roughly(JoinedRanks& joined, std::vector<std::string>& notes);

}  // namespace goodput
