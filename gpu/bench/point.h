// A point of the benchmark: an operation at a shape, how it is measured, and what came out.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gpu/bench/measure.h"

namespace goodput::gpu::bench {

struct PointName {
  std::string op;
  std::string shape;
  std::string path;
};
[[nodiscard]] inline std::string text_of(const PointName& name) {
  return name.op + " " + name.shape + " " + name.path;
}

// What results were compared with the reference, and how many elements differ.
struct Check {
  std::uint64_t nwrong = 0;
  std::uint64_t compared = 0;  // elements
  std::int64_t items = 0;      // tokens, rows or slots looked at
  std::int64_t of = 0;         // that many
};

struct PointResult {
  Measurement time;
  std::int64_t bytes;
  Check check;
};

struct Point {
  PointName name;
  std::optional<CopyFlow> ceiling;  // held against the copy ceiling of that flow
  std::optional<double> target_us;  // or against a time; neither: it is only reported
  std::function<PointResult(const Measurer&)> run;
};

}  // namespace goodput::gpu::bench
