#include "tools/check/check_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace goodput {
namespace {

std::string signed_text(double change, bool is_relative) {
  return is_relative ? fmt::format("{:+.3g} %", 100 * change) : fmt::format("{:+.4g}", change);
}

}  // namespace

std::size_t CheckReport::count(Outcome outcome) const {
  return static_cast<std::size_t>(
      std::count_if(figures.begin(), figures.end(),
                    [outcome](const CheckedFigure& figure) { return figure.outcome == outcome; }));
}

bool CheckReport::has_regression() const {
  const bool is_slower =
      std::any_of(speeds.begin(), speeds.end(), [](const SpeedResult& speed) { return speed.is_slower(); });
  return is_slower || std::any_of(figures.begin(), figures.end(),
                                  [](const CheckedFigure& figure) { return is_regression(figure.outcome); });
}

std::string_view CheckReport::verdict() const {
  const bool is_open = count(Outcome::kUndecided) + count(Outcome::kNew) + count(Outcome::kGone) > 0;
  if (has_regression() || (is_strict && is_open)) return "regression";
  return count(Outcome::kUndecided) > 0 ? "undecided" : "ok";
}

ExitCode exit_code(const CheckReport& report) {
  return report.verdict() == "regression" ? ExitCode::kRegression : ExitCode::kOk;
}

std::string change_text(const CheckedFigure& figure) {
  return figure.change ? signed_text(*figure.change, figure.is_relative) : "";
}

std::string interval_text(const CheckedFigure& figure) {
  if (!figure.test || figure.test->are_alike) return "";
  const auto [low, high] = figure.test->interval;
  return fmt::format("{} to {}", signed_text(low, figure.is_relative), signed_text(high, figure.is_relative));
}

std::string figure_text(std::optional<double> figure) {
  if (!figure) return "";
  const double size = std::abs(*figure);
  if (size >= 1e6 && size < 1e15) return fmt::format("{:.0f}", *figure);
  return fmt::format("{:.6g}", *figure);
}

}  // namespace goodput
