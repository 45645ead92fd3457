// The tables of a calibration file, of the points that were measured. Host only.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gpu/calibrate/measured_points.h"

namespace goodput::gpu::calibrate {

struct MeasuredTable {
  TableKey key;
  std::string size_name;
  std::string source;
  std::map<std::int64_t, PointSummary> by_size;
};

struct MeasuredCeiling {
  std::string name;
  double value;
  std::string of;  // what reached it
};

// A block that ran.
struct MeasuredBlock {
  PointKey key;
  PointSummary summary;
};

struct MeasuredTables {
  std::vector<MeasuredTable> tables;      // by op as first seen, then by params
  std::vector<MeasuredCeiling> ceilings;  // by name
  std::vector<MeasuredBlock> checks;      // as first seen
  std::vector<std::string> notes;         // what was left out, and why
};

// A layout that differs from the plain table by no more than this at any size is no table of its own.
inline constexpr double kSameLayout = 0.05;

[[nodiscard]] MeasuredTables tables_of(const MeasuredPoints& points);

}  // namespace goodput::gpu::calibrate
