#include "tools/cli/key_notes.h"

#include <fmt/format.h>

#include "sim/base/json.h"
#include "sim/base/text.h"

namespace goodput {

namespace {

std::string key_note_line(const config::KeyNote& key, const std::string& file) {
  const std::string place = key.file == file ? key.pointer : key.file + ' ' + key.pointer;
  if (!key.new_name.empty()) return fmt::format("{} is now named {}", place, in_quotes(key.new_name));
  return fmt::format("{} has no effect: {}", place, key.why);
}

}  // namespace

std::vector<std::string> key_note_lines(const config::KeyNotes& keys, const std::string& file) {
  std::vector<std::string> lines;
  for (const config::KeyNote& key : keys) lines.push_back(key_note_line(key, file));
  return lines;
}

std::string key_notes_text(const config::KeyNotes& keys, const std::string& file) {
  std::string text;
  for (const config::KeyNote& key : keys)
    text += fmt::format("{}: {}\n", key.new_name.empty() ? "warning" : "note", key_note_line(key, file));
  return text;
}

OrderedJson unused_keys_json(const config::KeyNotes& keys) {
  OrderedJson json = OrderedJson::array();
  for (const config::KeyNote& key : keys) {
    if (!key.new_name.empty()) continue;
    json.push_back({{"file", key.file}, {"pointer", key.pointer}, {"why", key.why}});
  }
  return json;
}

}  // namespace goodput
