// What a calibration file holds: its tables, lines through them, and how far a point is from what the others
// say.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/cost/alpha_beta_fit.h"
#include "models/cost/calibration.h"
#include "models/cost/left_out.h"
#include "sim/base/json_fwd.h"

namespace goodput {

struct TableInfo {
  const Measurement& table;
  std::size_t unsteady = 0;        // points
  std::vector<FittedSegment> fit;  // in microseconds; none of tables with one point
  std::optional<LeftOutError> left_out;

  // As nccl-tests define it, in GB/s; plain bandwidth of copies and sends. None of what has no bytes, and
  // where time does not rise with them.
  [[nodiscard]] std::optional<double> bus_gb_per_s(const FittedSegment& segment) const;
};

// Refers to the tables of `calibration`.
[[nodiscard]] std::vector<TableInfo> table_infos(const Calibration& calibration);

// `file`: how it is called.
[[nodiscard]] std::string calibration_info_text(const Calibration& calibration, const std::string& file);

// Adds the keys of docs/formats/calibration-results.md, "goodput.calibration_info/1", but for `plan`.
void add_calibration_info_json(const Calibration& calibration, OrderedJson& json);

}  // namespace goodput
