#include "tools/chart/heatmap_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tools/page/palette.h"

namespace goodput {
namespace {

constexpr Rgb rgb_of(std::uint32_t colour) {
  return {static_cast<std::uint8_t>(colour >> 16), static_cast<std::uint8_t>(colour >> 8 & 0xFF),
          static_cast<std::uint8_t>(colour & 0xFF)};
}

constexpr Rgb kNoNumber = rgb_of(palette::kNoNumber);
constexpr double kLeastTop = 1.1;
constexpr double kWantedIntervals = 5;
constexpr double kTickTolerance = 1e-9;  // relative to a tick: 1.2 is on a tick, whatever its last bit

std::uint8_t between(std::uint8_t a, std::uint8_t b, double share) {
  return static_cast<std::uint8_t>(std::lround(a + share * (static_cast<double>(b) - a)));
}

// The least 1, 2 or 5 times a power of ten that is no less than `width`.
double nice_step(double width) {
  const double power = std::pow(10, std::floor(std::log10(width)));
  for (const double digit : {1.0, 2.0, 5.0}) {
    if (digit * power >= width * (1 - kTickTolerance)) return digit * power;
  }
  return 10 * power;
}

// IEC 61966-2-1 (sRGB): how much light a channel gives, 0 to 1.
double light_of(std::uint8_t channel) {
  const double value = channel / 255.0;
  return value <= 0.04045 ? value / 12.92 : std::pow((value + 0.055) / 1.055, 2.4);
}

}  // namespace

Rgb ramp_colour(double position) {
  const double place = std::clamp(position, 0.0, 1.0) * (palette::kRamp.size() - 1);
  const std::size_t below = std::min(static_cast<std::size_t>(place), palette::kRamp.size() - 2);
  const double share = place - static_cast<double>(below);
  const Rgb a = rgb_of(palette::kRamp[below]);
  const Rgb b = rgb_of(palette::kRamp[below + 1]);
  return {between(a.red, b.red, share), between(a.green, b.green, share), between(a.blue, b.blue, share)};
}

Rgb ink_on(Rgb background) {
  const double light = 0.2126 * light_of(background.red) + 0.7152 * light_of(background.green) +
                       0.0722 * light_of(background.blue);
  // Where the contrast of WCAG 2, (lighter + 0.05) / (darker + 0.05), is the same to black and to white.
  return light > 0.179 ? Rgb{20, 20, 20} : Rgb{255, 255, 255};
}

HeatScale::HeatScale(double largest) {
  const double reach = std::max(std::isfinite(largest) ? largest : 1, kLeastTop);
  const double step = nice_step((reach - 1) / kWantedIntervals);
  ticks_.push_back(1);
  for (double multiple = std::floor(1 / step + kTickTolerance) + 1; top() < reach * (1 - kTickTolerance);
       ++multiple) {
    ticks_.push_back(multiple * step);
  }
  decimals_ = std::max(0, static_cast<int>(-std::floor(std::log10(step) + kTickTolerance)));
}

Rgb HeatScale::colour(double slowdown) const {
  if (std::isnan(slowdown)) return kNoNumber;
  return ramp_colour((slowdown - 1) / (top() - 1));
}

std::string HeatScale::tick_label(double slowdown) const {
  return fmt::format("{:.{}f}", slowdown, decimals_);
}

std::string slowdown_label(double slowdown) {
  if (std::isnan(slowdown)) return "-";
  return fmt::format("{:.{}f}", slowdown, slowdown < 9.995 ? 2 : slowdown < 99.95 ? 1 : 0);
}

}  // namespace goodput
