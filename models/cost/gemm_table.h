// How long measured matrix multiplications take, carried over to shapes that were not measured.
//
// A table is a family: fixed n and k, many m. What is interpolated is the ratio of the measured time to a
// bound no GEMM beats, the longer of FLOPs and bytes at the GPU's ratings plus a start-up: it moves much less
// with the shape than the time does. Along m log-log, clamped at the ends of the family; over (n, k) the
// geometric mean of the three nearest families by log-distance d, weighted 1/d^2. A family's own (n, k) is
// answered by it alone.
//
// Predicting each family of the public H200 table from the others is wrong by 6 % in the mean, by 4.4 % for
// m >= 1024 (tests/models/cost/h200_public_test.cpp prints it). No batched products.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "models/cost/calibration.h"
#include "models/cost/measured_curve.h"
#include "sim/machine/cost_model.h"

namespace goodput {

// What the vendor promises of a GPU.
struct GpuRatings {
  double flops_per_second = 0;
  double bytes_per_second = 0;
};

// Of three matrices in 16 bits, each moved once.
[[nodiscard]] double gemm_bytes(double m, double n, double k);

class GemmTable {
 public:
  // `measurements` of 16-bit GEMMs on a GPU with these ratings; others are passed over.
  GemmTable(std::span<const Measurement> measurements, GpuRatings measured_on);

  // On a GPU of other ratings in proportion to the bound. Nothing where the table is empty or says nothing of
  // such kernels. The tier is that of the families used, at best `model` between them.
  [[nodiscard]] std::optional<Cost> cost(const Kernel& kernel, GpuRatings ratings) const;

  // Whether that cost is of the kernel's own family, within what was measured of it.
  [[nodiscard]] bool has_measured(const Kernel& kernel) const;

 private:
  struct Family {
    double n = 0, k = 0;
    MeasuredCurve ratio;  // of time to bound, by m
    Tier tier = Tier::kAssumed;
  };
  struct Near {
    double distance = 0;
    const Family* family = nullptr;
  };
  [[nodiscard]] bool can_price(const Kernel& kernel) const;
  [[nodiscard]] std::vector<Near> nearest(const Kernel& kernel) const;

  std::vector<Family> families_;
};

}  // namespace goodput
