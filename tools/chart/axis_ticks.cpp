#include "tools/chart/axis_ticks.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>

namespace goodput {
namespace {

constexpr int kTimeMarks = 7;

// The least of 1, 2 and 5 times a power of ten of which `most` has at most so many.
double round_step(double most, int marks) {
  double power = std::pow(10.0, std::floor(std::log10(most / marks)));
  while (true) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (most <= marks * factor * power * (1 + 1e-9)) return factor * power;
    }
    power *= 10;
  }
}

struct Scale {
  double unit;
  std::string_view name;
};

std::string count_label(double value, double most) {
  static constexpr std::array<Scale, 4> kScales = {{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}}};
  if (value == 0) return "0";
  for (const Scale& scale : kScales) {
    if (most >= 2 * scale.unit) return fmt::format("{:.6g}{}", value / scale.unit, scale.name);
  }
  return fmt::format("{:.6g}", value);
}

// Round parts of an hour or a minute, and of a day.
constexpr std::array<double, 7> kSixtieths = {1, 2, 5, 10, 15, 20, 30};
constexpr std::array<double, 6> kHours = {1, 2, 3, 4, 6, 12};

double round_time_step(double in_unit, std::span<const double> steps) {
  for (const double step : steps) {
    if (in_unit <= kTimeMarks * step) return step;
  }
  return round_step(in_unit, kTimeMarks);
}

}  // namespace

Axis count_axis(double most, int marks) {
  Axis axis;
  const double step = std::max(1.0, most > 0 ? round_step(most, marks) : 0.0);
  const int last = std::max(1, static_cast<int>(std::ceil(most / step - 1e-9)));
  axis.most = last * step;
  for (int i = 0; i <= last; ++i) axis.ticks.push_back({i * step, count_label(i * step, axis.most)});
  return axis;
}

Axis time_axis(double seconds) {
  static constexpr std::array<Scale, 4> kUnits = {{{86400, "days"}, {3600, "h"}, {60, "min"}, {1, "s"}}};
  Axis axis;
  axis.most = seconds > 0 ? seconds : 1;
  const auto* unit = std::find_if(kUnits.begin(), kUnits.end() - 1,
                                  [&](const Scale& scale) { return axis.most >= 3 * scale.unit; });
  axis.unit = unit->name;
  const double in_unit = axis.most / unit->unit;
  const std::span<const double> steps = unit->unit == 3600 ? std::span<const double>(kHours) : kSixtieths;
  const double step = unit->unit == 86400 || in_unit < 3.5 ? round_step(in_unit, kTimeMarks)
                                                           : round_time_step(in_unit, steps);
  for (int i = 0; i * step <= in_unit * (1 + 1e-9); ++i)
    axis.ticks.push_back({i * step * unit->unit, fmt::format("{:.6g}", i * step)});
  return axis;
}

}  // namespace goodput
