#include <fmt/format.h>

#include <utility>

#include "models/launch/structured_text.h"
#include "sim/base/text.h"

#include <toml++/toml.h>

namespace goodput::launch {
namespace {

// One value, or an element of a list. A table in a list has no text; its keys are settings of their own.
std::optional<std::string> toml_scalar(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* integer = node.as_integer()) return std::to_string(integer->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  return node.is_table() || node.is_array() ? std::nullopt : std::optional<std::string>("a date");
}

void add_toml(const toml::node& node, const std::string& key, Settings& settings) {
  if (const auto* table = node.as_table()) {
    for (const auto& [name, value] : *table)
      add_toml(value, key.empty() ? std::string(name.str()) : fmt::format("{}.{}", key, name.str()),
               settings);
    return;
  }
  Setting setting{.key = key, .shown = {}, .texts = {}, .is_list = node.is_array(), .where = {}};
  setting.where = {.file = settings.file(), .position = Position::line(node.source().begin.line)};
  if (const auto* list = node.as_array()) {
    for (std::size_t i = 0; i < list->size(); ++i) {
      if (const auto text = toml_scalar(*list->get(i)))
        setting.texts.push_back(*text);
      else
        add_toml(*list->get(i), fmt::format("{}.{}", key, i), settings);
    }
  } else {
    setting.texts.push_back(toml_scalar(node).value_or(""));
  }
  setting.shown = setting.is_list ? key : fmt::format("{} = {}", key, setting.texts.front());
  settings.add(std::move(setting));
}

}  // namespace

Result<Settings> toml_settings(const std::string& text, const std::string& file) {
  try {
    Settings settings(file);
    add_toml(toml::parse(text, file), "", settings);
    return settings;
  } catch (const toml::parse_error& error) {
    const toml::source_position at = error.source().begin;
    return Error{"is not valid TOML: " + on_one_line(error.description()),
                 {.file = file, .position = Position::line(at.line, at.column)}};
  }
}

}  // namespace goodput::launch
