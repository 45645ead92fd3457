// What the cleaning pass is asked to do.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "sim/base/number_ranges.h"

namespace goodput {

struct CleaningOptions {
  bool strict = false;  // refuse where a strict rule has something to do
  std::vector<NumberRange>
      steps;  // asked for; empty: all. A range takes what there is, a single step must be
  // Replicas and stages that the job is known to have; a step with fewer is not whole. 0: unknown.
  std::int64_t dp_size = 0;
  std::int64_t pp_size = 0;
  std::map<std::int64_t, double> step_origin_s = {};  // as of OpTraceReading
};

}  // namespace goodput
