// Stretches of recorded runs, by hand.
#pragma once

#include <chrono>
#include <cstdint>

#include "sim/base/units.h"
#include "sim/job/job_log.h"

namespace goodput::testing {

inline SimTime at_second(int number) {
  return SimTime{std::chrono::seconds(number)};
}

// `nodes`: index into the log's sets of nodes.
inline JobSpan recorded_span(TimeBucket bucket, int begin_s, int end_s, std::uint32_t nodes) {
  JobSpan span;
  span.bucket = bucket;
  span.begin = at_second(begin_s);
  span.end = at_second(end_s);
  span.nodes = nodes;
  return span;
}

}  // namespace goodput::testing
