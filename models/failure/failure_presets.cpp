#include "models/failure/failure_presets.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "sim/base/json.h"

namespace goodput {
namespace {

// They stand by the numbers of the file that has them.
constexpr std::array<std::string_view, 3> kAnnotations = {"source", "sources", "tier"};

Json options_of(const FailurePreset& preset) {
  Json options = Json::parse(preset.text);
  for (const std::string_view key : kAnnotations) options.erase(std::string(key));
  return options;
}

}  // namespace

Json with_preset(const FailurePreset& preset, const Json& given) {
  Json merged = options_of(preset);
  for (const auto& [key, value] : given.items()) {
    if (key != "preset") merged[key] = value;
  }
  return merged;
}

std::string useless_preset(const FailurePreset& preset, const Json& given) {
  const Json options = options_of(preset);
  const auto items = options.items();
  const bool is_hidden = std::all_of(items.begin(), items.end(),
                                     [&given](const auto& option) { return given.contains(option.key); });
  return is_hidden ? "the scenario overrides every key of the preset" : "";
}

}  // namespace goodput
