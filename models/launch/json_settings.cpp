#include <fmt/format.h>

#include <utility>

#include "models/launch/structured_text.h"
#include "sim/base/json.h"
#include "sim/config/config.h"
#include "sim/config/json_file.h"

namespace goodput::launch {
namespace {

std::string json_scalar(const Json& value) {
  return value.is_string() ? value.get<std::string>() : value.dump();
}

void add_json(const Json& value, const std::string& key, const config::Place& place, Settings& settings) {
  if (value.is_object()) {
    for (const auto& [name, member] : value.items())
      add_json(member, key.empty() ? name : fmt::format("{}.{}", key, name), place.at(name), settings);
    return;
  }
  Setting setting{.key = key, .shown = key, .texts = {}, .is_list = value.is_array(), .where = {}};
  setting.where = {.file = place.file, .position = {}, .pointer = place.pointer};
  if (value.is_array()) {
    for (std::size_t i = 0; i < value.size(); ++i) {
      if (value.at(i).is_object() || value.at(i).is_array())
        add_json(value.at(i), fmt::format("{}.{}", key, i), place.at(std::to_string(i)), settings);
      else
        setting.texts.push_back(json_scalar(value.at(i)));
    }
  } else {
    setting.texts.push_back(json_scalar(value));
    setting.shown = fmt::format("{} {}", key, setting.texts.front());
  }
  settings.add(std::move(setting));
}

}  // namespace

Result<Settings> json_settings(const std::string& text, const std::string& file) {
  GOODPUT_TRY(const Json root, config::parse_text(text, file));
  if (!root.is_object()) return Error{"must be an object", {.file = file}};
  Settings settings(file);
  add_json(root, "", config::Place{file, {}, {}}, settings);
  return settings;
}

}  // namespace goodput::launch
