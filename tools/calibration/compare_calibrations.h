// Two calibrations against each other, table by table, at the sizes that both have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/cost/calibration.h"
#include "sim/base/errors.h"
#include "sim/base/json_fwd.h"

namespace goodput {

// "5%", "5 %": how far a time may be from the other one, relative to that. The Error has no place.
Result<double> parse_ratio_tolerance(std::string_view text);

// A ratio is the second time over the first one.
struct ComparedTable {
  const Measurement& table;  // of the first
  std::size_t common = 0;    // sizes that both have
  std::size_t only_first = 0, only_second = 0;
  std::size_t beyond = 0;     // of the common ones, how many are further off than the tolerance
  double geometric_mean = 1;  // of the ratios
  double farthest = 1;        // from 1, either way; of several the one at the smallest size
  std::int64_t farthest_size = 0;
};

struct CalibrationComparison {
  double tolerance = 0;
  std::vector<ComparedTable> tables;  // that both have, in the order of the first
  std::vector<const Measurement*> only_first, only_second;
  std::size_t common = 0, beyond = 0;  // points
  double geometric_mean = 1;           // of all common points
};

// Refers to the tables. Nothing where no table has a size in common with the other file's.
[[nodiscard]] std::optional<CalibrationComparison> compare_calibrations(const Calibration& first,
                                                                        const Calibration& second,
                                                                        double tolerance);

struct ComparedNames {
  std::string first, second;
};
[[nodiscard]] std::string comparison_text(const CalibrationComparison& comparison,
                                          const ComparedNames& names);

// Adds the keys of docs/formats/calibration-results.md, "goodput.calibration_compare/1".
void add_comparison_json(const CalibrationComparison& comparison, OrderedJson& json);

}  // namespace goodput
