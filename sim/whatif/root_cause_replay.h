// Replays of a recording with one suspected cause taken out: what would the step take without it?
#pragma once

#include <cstddef>
#include <vector>

#include "sim/ops/op_graph.h"
#include "sim/recording/recording.h"
#include "sim/whatif/whatif.h"

namespace goodput {

// An instance and what it should have taken.
struct Patch {
  std::size_t block = 0;  // index into Recording::blocks
  OpId op = 0;
  std::size_t lane = 0;
  double value_s = 0;
};

struct Repair {
  std::vector<Patch> patches;
  std::vector<double> pass_factor;  // of a worker's passes, by dp * pp + stage; empty: 1
};

// The share of the replayed steps (mean span without launch delays) that goes away with the repair.
[[nodiscard]] double saved_share(const OpGraph& graph, const Recording& recording, const WhatIf& result,
                                 Repair repair, unsigned jobs);

}  // namespace goodput
