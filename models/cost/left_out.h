// How far a table's own points are from what the others say of them: each inner one predicted without it.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "models/cost/calibration.h"
#include "models/cost/gemm_table.h"

namespace goodput {

struct LeftOutError {
  std::size_t points = 0;  // that were left out, one at a time
  double mean = 0;         // of the relative errors, without their signs
  double largest = 0;
};

// As the simulator interpolates (models/cost/calibrated.h): 16-bit GEMMs as a family of GemmTable, where the
// GPU's ratings are known; tables by bytes in logarithms of times that rise, others in those of the times as
// they are. None without an inner point.
[[nodiscard]] std::optional<LeftOutError> left_out_error(const Measurement& table,
                                                         const std::optional<GpuRatings>& ratings);

}  // namespace goodput
