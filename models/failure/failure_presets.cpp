#include "models/failure/failure_presets.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>

namespace goodput {
namespace {

using nlohmann::json;

// They stand by the numbers of the file that has them.
constexpr std::array<std::string_view, 3> kAnnotations = {"source", "sources", "tier"};

json options_of(const FailurePreset& preset) {
  json options = json::parse(preset.text);
  for (const std::string_view key : kAnnotations) options.erase(std::string(key));
  return options;
}

}  // namespace

json with_preset(const FailurePreset& preset, const json& given) {
  json merged = options_of(preset);
  for (const auto& [key, value] : given.items()) {
    if (key != "preset") merged[key] = value;
  }
  return merged;
}

std::string useless_preset(const FailurePreset& preset, const json& given) {
  const json options = options_of(preset);
  const auto items = options.items();
  const bool is_hidden = std::all_of(items.begin(), items.end(),
                                     [&given](const auto& option) { return given.contains(option.key()); });
  return is_hidden ? "all that it says is said beside it" : "";
}

}  // namespace goodput
