// What is measured: sweeps of points. A sweep says what it measures without a device, so that it can be
// listed anywhere; its points allocate what they need when they are visited, and free it again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/sizes.h"
#include "gpu/calibrate/point_measurer.h"
#include "gpu/calibrate/table_key.h"

namespace goodput::gpu::calibrate {

using bench::Sizes;

// Whether a visit compares results with a reference: the first one to a point does.
enum class Checking : std::uint8_t { kNo, kYes };

// A point that is no table's but a rate of the machine: the best of all with this name.
struct CeilingWork {
  std::string name;  // of the file: "copy_1r1w_gb_per_s", "gemm_bf16_tflops"
  double amount;     // of a run; over 1e3 or 1e6 times us it is the rate: bytes or FLOPs
};

struct SweepPoint {
  PointKey key;
  double estimate_s;  // of one visit on an H200, setup and check included
  std::function<Visit(PointMeasurer&, Checking)> visit;
  std::optional<CeilingWork> ceiling;
};

struct Sweep {
  std::string name;
  std::vector<SweepPoint> points;
  std::function<void()> done;                         // may be empty: gives back what the points share
  int most_rounds = std::numeric_limits<int>::max();  // fewer where a visit takes long

  [[nodiscard]] int rounds(int of_the_run) const { return std::min(of_the_run, most_rounds); }
};

// Seconds of a visit to something that takes `run_us` and as long as `setup_ms` to prepare (and to check,
// over the rounds).
[[nodiscard]] double visit_estimate_s(double run_us, double setup_ms);

}  // namespace goodput::gpu::calibrate
