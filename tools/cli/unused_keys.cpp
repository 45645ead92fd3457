#include "tools/cli/unused_keys.h"

#include <fmt/format.h>

#include "sim/base/json.h"

namespace goodput {

std::vector<std::string> unused_key_lines(const config::UnusedKeys& keys, const std::string& file) {
  std::vector<std::string> lines;
  for (const config::UnusedKey& key : keys) {
    lines.push_back(
        fmt::format("{}{} has no effect: {}", key.file == file ? "" : key.file + ' ', key.pointer, key.why));
  }
  return lines;
}

std::string unused_keys_text(const config::UnusedKeys& keys, const std::string& file) {
  std::string text;
  for (const std::string& line : unused_key_lines(keys, file)) text += fmt::format("warning: {}\n", line);
  return text;
}

OrderedJson unused_keys_json(const config::UnusedKeys& keys) {
  OrderedJson json = OrderedJson::array();
  for (const config::UnusedKey& key : keys)
    json.push_back({{"file", key.file}, {"pointer", key.pointer}, {"why", key.why}});
  return json;
}

}  // namespace goodput
