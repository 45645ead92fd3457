#include "tools/calibration/table_text.h"

#include <fmt/format.h>

#include <array>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {
namespace {

constexpr std::array<std::string_view, 5> kByteUnits = {"B", "KiB", "MiB", "GiB", "TiB"};

}  // namespace

std::string table_name(const Measurement& table) {
  MeasuredParams params = table.params;
  const OrderedJson written = config::write(config_fields(params));
  std::string name(to_string(table.op));
  std::string_view separator = ": ";
  for (const auto& [key, value] : written.items()) {
    name += separator;
    name += key;
    separator = ", ";
    if (value.is_boolean()) continue;  // true, or it would not be written
    name += ' ' + (value.is_string() ? on_one_line(value.get_ref<const std::string&>()) : value.dump());
  }
  return name;
}

std::string bytes_text(double bytes) {
  std::size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < kByteUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return fmt::format("{:.4g} {}", bytes, kByteUnits[unit]);
}

std::string size_text(MeasuredOp op, double size) {
  if (size_key(op).empty()) return "";
  return size_key(op) == "bytes" ? bytes_text(size) : fmt::format("{:.0f}", size);
}

std::string sizes_text(const Measurement& table) {
  if (size_key(table.op).empty()) return "";
  const auto text = [&table](const MeasuredPoint& point) {
    return size_text(table.op, static_cast<double>(point.size()));
  };
  if (table.points.size() == 1) return text(table.points.front());
  return text(table.points.front()) + " .. " + text(table.points.back());
}

std::string percent_text(double share) {
  return fmt::format("{:.1f} %", 100 * share);
}

std::string counted(std::size_t number, std::string_view noun) {
  return fmt::format("{} {}{}", number, noun, number == 1 ? "" : "s");
}

Tier lowest_tier_of(const Calibration& calibration) {
  Tier tier = Tier::kMeasured;
  for (const Measurement& table : calibration.ops) tier = lowest(tier, table.tier);
  return tier;
}

}  // namespace goodput
