// A run as a table for people, in pieces that can be printed as they come: what is known beforehand, the
// ceilings, a row a point, the ceilings once more.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "gpu/bench/run_report.h"

namespace goodput::gpu::bench {

// Date, machine, notes, method. Ends with a newline, as everything here.
[[nodiscard]] std::string head_text(const RunReport& report);
// "" without ceilings.
[[nodiscard]] std::string ceilings_text(const RunReport& report);
// At first and at the end of the run, with the drift. "" where none was measured twice.
[[nodiscard]] std::string drift_text(const RunReport& report);

// "1980"; "1980>1755" where it changed by more than the rule allows; "~1980" where the warm-up never saw it
// steady; "-" where it is not known.
[[nodiscard]] std::string clock_text(const SampledTimes& times);

// The rows of points. Columns are as wide as what is known beforehand needs.
class PointTable {
 public:
  explicit PointTable(const std::vector<Point>& points);

  [[nodiscard]] std::string header() const;
  // The name, to be shown while it is measured: without a newline.
  [[nodiscard]] std::string begin_of_row(const PointName& name) const;
  [[nodiscard]] std::string rest_of_row(const RunReport& report, const PointOutcome& outcome) const;

 private:
  std::vector<std::size_t> name_widths_;  // of op, shape and path
};

}  // namespace goodput::gpu::bench
