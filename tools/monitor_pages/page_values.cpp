#include "tools/monitor_pages/page_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <string_view>

namespace goodput {
namespace {

constexpr std::string_view kDash = "–";
constexpr double kLastMoment = 253402300799;  // of the year 9999

std::tm utc_parts(double unix_s) {
  const auto seconds = static_cast<std::time_t>(std::clamp(std::floor(unix_s), 0.0, kLastMoment));
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  return parts;
}

std::string clock_text(double unix_s, const char* format) {
  const std::tm parts = utc_parts(unix_s);
  std::array<char, 32> text{};
  const std::size_t size = std::strftime(text.data(), text.size(), format, &parts);
  return {text.data(), size};
}

}  // namespace

std::string slowdown_text(double slowdown) {
  if (!std::isfinite(slowdown)) return std::string(kDash);
  return fmt::format("{:.{}f}×", slowdown, slowdown < 10 ? 3 : slowdown < 100 ? 2 : 1);
}

std::string share_text(double share) {
  if (!std::isfinite(share)) return std::string(kDash);
  return fmt::format("{:.1f} %", share * 100);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return std::string(kDash);
  if (seconds < 0) return "-" + seconds_text(-seconds);
  if (seconds < 0.9995) return fmt::format("{:.{}f} ms", seconds * 1e3, seconds < 0.01 ? 1 : 0);
  if (seconds < 99.95) return fmt::format("{:.{}f} s", seconds, seconds < 9.995 ? 2 : 1);
  const auto whole = static_cast<std::int64_t>(std::min(std::round(seconds), 9e15));
  if (whole < 3600) return fmt::format("{} min {} s", whole / 60, whole % 60);
  if (whole < std::int64_t{48} * 3600) return fmt::format("{:.1f} h", seconds / 3600);
  return fmt::format("{:.1f} d", seconds / 86400);
}

std::string count_text(std::int64_t count) {
  std::string text = fmt::format("{}", count);
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  for (std::size_t end = text.size(); end > first + 3; end -= 3) text.insert(end - 3, ",");
  return text;
}

std::string usd_text(double usd) {
  if (!std::isfinite(usd)) return std::string(kDash);
  if (std::abs(usd) < 100) return fmt::format("${:.2f}", usd);
  return "$" + count_text(static_cast<std::int64_t>(std::clamp(std::round(usd), -9e15, 9e15)));
}

std::string bytes_text(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 4> kUnits = {"KiB", "MiB", "GiB", "TiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double amount = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  for (; amount >= 1023.95 && unit + 1 < kUnits.size(); ++unit) amount /= 1024;
  return fmt::format("{:.1f} {}", amount, kUnits[unit]);
}

std::string iso_time(double unix_s) {
  return clock_text(unix_s, "%Y-%m-%dT%H:%M:%SZ");
}

std::string time_html(double unix_s) {
  if (!std::isfinite(unix_s) || unix_s <= 0) return std::string(kDash);
  return fmt::format(R"(<time datetime="{}">{}</time>)", iso_time(unix_s),
                     clock_text(unix_s, "%Y-%m-%d %H:%M:%S UTC"));
}

std::string ago_text(double unix_s, double now_s) {
  if (!std::isfinite(unix_s) || unix_s <= 0) return std::string(kDash);
  return now_s - unix_s < 1 ? "now" : seconds_text(now_s - unix_s) + " ago";
}

}  // namespace goodput
