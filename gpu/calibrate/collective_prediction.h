// How well eight ranks are known from two and four: what a simulator does when it goes beyond what was
// measured, tried where the answer is known. Host only.
//
// t(n) = a0 + (n - 1) a_p + bytes * factor(n) / B: a start, a part a peer and the bytes of a rank at bus
// bandwidth B. The first two come from the smallest size of two and four ranks, B at each size from four.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "gpu/calibrate/collective_sweep.h"
#include "gpu/calibrate/measured_points.h"

namespace goodput::gpu::calibrate {

struct PredictedCollective {
  CollectiveOp op;
  std::int64_t bytes;
  double predicted_us;
  double measured_us;

  [[nodiscard]] double error() const { return predicted_us / measured_us - 1; }
};

// Of all ops and sizes that were measured among two, four and eight ranks of one node, and came out right.
[[nodiscard]] std::vector<PredictedCollective> predicted_collectives(const MeasuredPoints& points);

// A line an op; none where there is nothing to predict.
[[nodiscard]] std::vector<std::string> collective_predictions(const MeasuredPoints& points);

}  // namespace goodput::gpu::calibrate
