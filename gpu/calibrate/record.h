// What a calibration leaves behind it as it goes: a record a line of the journal. Host only.
//
//   {"visit": {...}}     a point was measured in one round
//   {"sentinels": {...}} how long the sentinels took
//   {"note": "..."}      what could not be done
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gpu/calibrate/sweep.h"

namespace goodput::gpu::calibrate {

struct VisitRecord {
  std::string sweep;
  PointKey key;
  std::optional<CeilingWork> ceiling;  // of a point that has one
  std::string tier;                    // "measured", "emulated", ...
  int round = 1;                       // from 1
  bool again = false;                  // instead of one that a sentinel had moved behind
  Visit visit;
};

struct SentinelTime {
  std::string name;
  double median_us;
};
struct SentinelRecord {
  std::vector<SentinelTime> times;
};

struct NoteRecord {
  std::string text;
};

using Record = std::variant<VisitRecord, SentinelRecord, NoteRecord>;

// One line of JSON with its newline.
[[nodiscard]] std::string line_of(const Record& record);
// Throws std::invalid_argument with what is wrong. Members that it does not know are refused: nothing that
// somebody measured is left out without a word.
[[nodiscard]] Record parse_record(std::string_view line);

}  // namespace goodput::gpu::calibrate
