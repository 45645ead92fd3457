// A point of the benchmark: an operation at a shape, how it is measured, and what came out.
#pragma once

#include <algorithm>
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

// Points are measured in this order: what a deadline costs is what is worth least.
enum class PointTurn : std::uint8_t {
  kTarget,     // with a target, or of the size that has one
  kLayer,      // the other ways of a layer's rows: combine, backwards, scatter of few bytes
  kShortRows,  // on which the path of short rows is chosen
  kRest,
};

// What a point is held against; nothing: it is only reported.
struct PointGoal {
  std::optional<CopyFlow> ceiling;  // the copy ceiling of that flow
  std::optional<double> share;      // of the ceiling, to be reached on every GPU
  std::optional<double> us;         // to be reached on an H200
};

struct Point {
  PointName name;
  PointTurn turn;
  PointGoal goal;
  std::function<PointResult(const Measurer&)> run;
};

// By turn; within one as they were.
inline void sort_by_turn(std::vector<Point>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const Point& a, const Point& b) { return a.turn < b.turn; });
}

}  // namespace goodput::gpu::bench
