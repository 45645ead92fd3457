#include "models/launch/settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "sim/base/text.h"

namespace goodput::launch {
namespace {

constexpr std::array<std::string_view, 4> kTrue = {"true", "yes", "on", "1"};
constexpr std::array<std::string_view, 4> kFalse = {"false", "no", "off", "0"};
constexpr std::array<std::string_view, 4> kNull = {"null", "none", "~", ""};

bool is_one_of(std::string_view text, const std::array<std::string_view, 4>& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return equals_lower(word, text); });
}

// The name of the first variable in `text` that is not set; none if there is none.
std::optional<std::string> unset_variable(std::string_view text) {
  const std::size_t begin = text.find(kUnsetBegin);
  if (begin == std::string_view::npos) return std::nullopt;
  return std::string(text.substr(begin + 1, text.find(kUnsetEnd, begin) - begin - 1));
}

std::string shown_value(std::string_view text) {
  std::string result;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool is_output = text[i] == kUnknown && i + 1 < text.size() && text[i + 1] == kUnsetEnd;
    if (is_output) result += "(...)";
    if (text[i] != kUnsetEnd && text[i] != kUnknown) result += text[i] == kUnsetBegin ? '$' : text[i];
  }
  return result;
}

}  // namespace

Error Setting::error(std::string_view what) const {
  return {fmt::format("{}: {}", on_one_line(shown_value(shown)), what), where};
}

void Settings::add(Setting setting) {
  const auto [entry, is_new] = by_key_.emplace(setting.key, settings_.size());
  if (!is_new) {
    settings_[entry->second] = std::move(setting);
    return;
  }
  settings_.push_back(std::move(setting));
  used_.push_back(false);
}

const Setting* Settings::find(std::initializer_list<std::string_view> keys) {
  const Setting* found = nullptr;
  for (const std::string_view key : keys) {
    const auto entry = by_key_.find(key);
    if (entry == by_key_.end()) continue;
    used_[entry->second] = true;
    const Setting& setting = settings_[entry->second];
    if (found == nullptr && !is_null(setting)) found = &setting;
  }
  return found;
}

bool Settings::has(std::string_view key) const {
  return by_key_.find(key) != by_key_.end();
}

bool Settings::is_on(std::string_view key) {
  const Setting* setting = find(key);
  return setting != nullptr && flag_of(*setting) && *flag_of(*setting);
}

std::string Settings::text(std::string_view key, std::string_view otherwise) {
  const Setting* setting = find(key);
  return std::string(setting != nullptr && !setting->texts.empty() ? setting->texts.front() : otherwise);
}

std::vector<const Setting*> Settings::unused() const {
  std::vector<const Setting*> result;
  for (std::size_t i = 0; i < settings_.size(); ++i) {
    if (!used_[i]) result.push_back(&settings_[i]);
  }
  return result;
}

bool is_null(const Setting& setting) {
  return !setting.is_list && setting.texts.size() == 1 && is_one_of(setting.texts.front(), kNull);
}

Result<std::string> text_of(const Setting& setting) {
  if (setting.texts.size() != 1 || setting.is_list) return setting.error("must have one value");
  const std::string& text = setting.texts.front();
  if (const auto name = unset_variable(text)) {
    const bool is_unknown = name->starts_with(kUnknown);
    const std::string plain = is_unknown ? name->substr(1) : *name;
    if (plain.empty())
      return setting.error(
          "is the output of a command, which goodput does not run; write the value into the script");
    Error unset = setting.error(fmt::format(
        "{} {}; give {} {}=VALUE",
        is_unknown ? "goodput cannot tell the value of" : "the script does not set", plain, kOption, plain));
    return std::move(unset).of_option("env");
  }
  return text;
}

Result<double> number_of(const Setting& setting) {
  GOODPUT_TRY(std::string text, text_of(setting));
  std::erase(text, '_');
  if (const auto number = parse_number(text)) return *number;
  return setting.error("must be a number");
}

Result<std::int64_t> integer_of(const Setting& setting) {
  GOODPUT_TRY(std::string text, text_of(setting));
  std::erase(text, '_');
  if (const auto integer = parse_integer(text)) return *integer;
  const auto number = parse_number(text);  // 1e9, 8192.0
  if (number && std::floor(*number) == *number && std::fabs(*number) < 9e15)
    return static_cast<std::int64_t>(*number);
  return setting.error("must be an integer");
}

Result<bool> flag_of(const Setting& setting) {
  if (setting.texts.empty()) return true;
  GOODPUT_TRY(const std::string text, text_of(setting));
  if (is_one_of(text, kTrue)) return true;
  if (is_one_of(text, kFalse) || is_one_of(text, kNull)) return false;
  return setting.error("must be true or false");
}

}  // namespace goodput::launch
