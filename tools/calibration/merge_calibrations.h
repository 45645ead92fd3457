// Two calibrations of one GPU as one.
#pragma once

#include <cstddef>
#include <string>

#include "models/cost/calibration.h"
#include "sim/base/errors.h"

namespace goodput {

// What the second one gave.
struct MergedCounts {
  std::size_t tables = 0, checks = 0, assumed = 0, ceilings = 0;
  std::size_t known = 0;  // its tables that the first one has, too

  [[nodiscard]] bool is_any() const { return tables + checks + assumed + ceilings > 0; }
};

struct MergedCalibration {
  Calibration calibration;
  MergedCounts from_second;
};

// The first one, and of the second what the first lacks: tables, steps that ran, assumed numbers, ceilings.
// Every table keeps its tier, and its source or that of its file. Machine, run and method are those of the
// first; what else came in, and from where, is added to the file's source, its licence and the method's
// notes: `name` is the second's. Fails, with a pointer into the second, on another GPU.
Result<MergedCalibration> merge_calibrations(const Calibration& first, const Calibration& second,
                                             const std::string& name);

// The file: a line a point.
[[nodiscard]] std::string calibration_file_text(const Calibration& calibration);

}  // namespace goodput
