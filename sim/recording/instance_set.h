// Sets of recorded op instances, and the selectors that name them on the command line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/recording/recording.h"

namespace goodput {

// All instances of some ops in some steps and replicas; flags by OpId, by step index, by dp rank.
struct InstanceBox {
  std::vector<char> ops;
  std::vector<char> steps;
  std::vector<char> dp_ranks;

  // Every instance of the recording.
  [[nodiscard]] static InstanceBox all(const Recording& recording);
};

// A union of boxes.
struct InstanceSet {
  std::vector<InstanceBox> boxes;
};

// A conjunction such as `optype=forward-compute&stage=3&step=10-20`. Keys: optype (a type of the recording or
// its label), stage, dp, worker (dp:stage), rank (a single one), step, mb; values are lists of numbers and
// ranges. Fails on unknown keys and names, on malformed numbers, and when nothing in the recording is
// selected.
Result<InstanceBox> select(const Recording& recording, std::string_view selector);

}  // namespace goodput
