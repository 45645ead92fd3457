// Why kernels take longer in a step than alone: collectives run at the same time, and the step waits for the
// slowest GPU.
//
// During a collective, kernels lose the multiprocessors that it occupies. Memory-bound kernels lose its share
// of the memory bandwidth instead, if that is larger. Let s be the average share lost. Computation that takes
// C alone and an overlapped collective that takes t then take max(t, C + s t) together.
#pragma once

#include <cstdint>

#include "models/plan/training_plan.h"

namespace goodput {

struct Interference {
  double slowest = 1;           // kernel time on the slowest GPU divided by that on an average GPU
  double sms_share = 0;         // share of the multiprocessors that a collective takes; 0: overlap is free
  double memory_bandwidth = 0;  // bytes per second

  [[nodiscard]] bool is_modelled() const { return sms_share > 0; }
  // The share that a collective takes from concurrent kernels, at most kMostTaken. `moved`: bytes that it
  // reads and writes in GPU memory.
  [[nodiscard]] double share_taken(double seconds, double moved) const;
};
inline constexpr double kMostTaken = 0.9;
inline constexpr double kBoundByMemory = 0.25;  // share of a pass's time in memory-bound kernels, assumed

[[nodiscard]] Interference interference_of(const TrainingPlan& plan);

// The expected largest of n standard normal values. Blom's approximation (Statistical Estimates and
// Transformed Beta-Variables, 1958): within 5 %, and within 1 % for n >= 10. 0 for n = 1. REQUIRES: n >= 1.
[[nodiscard]] double expected_largest(std::int64_t n);

}  // namespace goodput
