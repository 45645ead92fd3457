// Steps without a plan: all stages alike, costs in proportion to what a pass takes. What generated fleets and
// tests put stragglers into.
#pragma once

#include <cstdint>
#include <string_view>

#include "models/synth/synthetic_step.h"

namespace goodput {

struct EvenStepShape {
  std::string_view schedule = "interleaved";  // a name of models/schedule/schedules.def
  std::int32_t dp = 2;
  std::int32_t pp = 2;
  std::int32_t vpp = 1;
  std::int32_t micro_batches = 4;
  bool overlaps_reduction = false;
  double forward_s = 0.02;      // of a whole stage; backward passes take twice as long
  double message_share = 0.02;  // of forward_s, that a message takes
  std::int32_t gpus_per_worker = 2;
  std::int64_t sequence_length = 8192;  // tokens
};

// REQUIRES: a schedule that there is, is recordable, and can run the shape.
[[nodiscard]] SyntheticStep even_step(const EvenStepShape& shape);

}  // namespace goodput
