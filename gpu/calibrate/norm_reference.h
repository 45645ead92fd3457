// What the norms of gpu/calibrate/norm_kernels.h must compute, row by row in double. Host only.
#pragma once

#include <vector>

#include "gpu/calibrate/norm_kernels.h"

namespace goodput::gpu::calibrate {

struct NormedRow {
  double mean;  // RMS: 0
  double rstd;
  std::vector<double> normal;  // (x - mean) rstd
};
[[nodiscard]] NormedRow reference_norm(NormKind kind, const std::vector<double>& x);

// weight normal + bias. RMS norm takes a bias of zeros.
[[nodiscard]] std::vector<double> reference_norm_forward(const NormedRow& row,
                                                         const std::vector<double>& weight,
                                                         const std::vector<double>& bias);
// The gradient of x.
[[nodiscard]] std::vector<double> reference_norm_backward(NormKind kind, const NormedRow& row,
                                                          const std::vector<double>& weight,
                                                          const std::vector<double>& dy);

// One rounding to bf16 is wrong by 2^-9 of the value at most, fp32 in front of it by a few 2^-24 of the
// largest summand, which is about 4 with what is measured: twice and ten times that are allowed.
[[nodiscard]] bool is_normed_right(double found, double expected);
// Of a sum over rows: the roundings of many fp32 additions besides, which grow as the summands' root of
// squares does.
[[nodiscard]] bool is_summed_right(double found, double expected, double root_of_squares);

}  // namespace goodput::gpu::calibrate
