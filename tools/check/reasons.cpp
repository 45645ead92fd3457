#include "tools/check/reasons.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace goodput {
namespace {

constexpr std::size_t kMostParts = 3;
constexpr double kLeastShare = 0.001;  // of the sum of all parts: less is no reason

Parts parts_of(const std::map<std::string, Parts>& parts, const std::string& policy) {
  const auto found = parts.find(policy);
  return found == parts.end() ? Parts{} : found->second;
}

double value_of(const Parts& parts, const std::string& name) {
  const auto found = parts.find(name);
  return found == parts.end() ? 0 : found->second;
}

void add_moved_parts(const Parts& before, const Parts& now, std::vector<std::string>& lines) {
  std::vector<std::string> names;
  double sum = 0;
  for (const auto& [name, value] : before) {
    names.push_back(name);
    sum += std::abs(value);
  }
  for (const auto& [name, value] : now) {
    if (!before.contains(name)) names.push_back(name);
  }
  const auto moved = [&](const std::string& name) { return value_of(now, name) - value_of(before, name); };
  std::stable_sort(names.begin(), names.end(), [&](const std::string& a, const std::string& b) {
    return std::abs(moved(a)) > std::abs(moved(b));
  });
  for (std::size_t i = 0; i < std::min(names.size(), kMostParts); ++i) {
    if (std::abs(moved(names[i])) <= kLeastShare * sum) return;
    lines.push_back(
        fmt::format("{}: {:.6g}, was {:.6g}", names[i], value_of(now, names[i]), value_of(before, names[i])));
  }
}

}  // namespace

std::vector<std::string> reasons(const RunOrigin& origin, const std::map<std::string, Parts>& parts,
                                 const RunFigures& now, const std::string& policy) {
  std::vector<std::string> lines;
  const bool has_other_calibration = origin.calibration != now.origin.calibration;
  if (has_other_calibration) {
    const auto named = [](const std::string& file) { return file.empty() ? "none" : file; };
    lines.push_back(
        fmt::format("calibration: {}, was {}", named(now.origin.calibration), named(origin.calibration)));
  }
  // The hash of the config counts the calibration's bytes.
  if (origin.config_hash != now.origin.config_hash && !has_other_calibration)
    lines.push_back(fmt::format("config: {}, was {}", now.origin.config_hash, origin.config_hash));
  if (origin.version != now.origin.version || origin.revision != now.origin.revision) {
    lines.push_back(fmt::format("code: {} ({}), was {} ({})", now.origin.version, now.origin.revision,
                                origin.version, origin.revision));
  }
  if (lines.empty()) lines.emplace_back("config, calibration and code revision are what they were");
  add_moved_parts(parts_of(parts, policy), parts_of(now.parts, policy), lines);
  return lines;
}

}  // namespace goodput
