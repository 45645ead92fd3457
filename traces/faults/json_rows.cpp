#include "traces/faults/json_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/json_file.h"

namespace goodput {
namespace {

// Slurm's numbers that may be missing: {"set": true, "infinite": false, "number": 128}.
bool is_slurm_number(const Json& value) {
  return value.contains("set") && value.contains("number");
}

std::string text_of(const Json& value) {
  if (value.is_null()) return "";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && is_slurm_number(value))
    return value.at("set") == Json(true) ? value.at("number").dump() : "";
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const Json& one : value) {
    if (!text.empty()) text += ',';
    text += text_of(one);
  }
  return text;
}

// Collects rows whose objects may have different keys.
class JsonRows {
 public:
  explicit JsonRows(const std::string& file) { table_.file = file; }

  Status add(const Json& object, LogTable::Row row) {
    if (!object.is_object()) return table_.error(row, "must be an object that describes a fault");
    row_ = std::move(row);
    add_keys(object, "");
    table_.rows.push_back(std::move(row_));
    return Ok{};
  }

  LogTable finish() && {
    for (LogTable::Row& row : table_.rows) row.fields.resize(table_.columns.size());
    return std::move(table_);
  }

 private:
  void add_keys(const Json& object, const std::string& prefix) {
    for (const auto& [key, value] : object.items()) {
      if (value.is_object() && !is_slurm_number(value)) {
        add_keys(value, prefix + key + ".");
        continue;
      }
      const auto [column, is_new] = columns_.try_emplace(prefix + key, table_.columns.size());
      if (is_new) table_.columns.push_back(prefix + key);
      if (row_.fields.size() <= column->second) row_.fields.resize(column->second + 1);
      row_.fields[column->second] = text_of(value);
    }
  }

  LogTable table_;
  LogTable::Row row_;
  std::unordered_map<std::string, std::size_t> columns_;
};

// The list in a document: itself, or its only member that is a list of objects.
struct JsonList {
  const Json* list = nullptr;
  std::string pointer{};
};
std::optional<JsonList> list_in(const Json& document) {
  if (document.is_array()) return JsonList{&document, ""};
  if (document.contains("jobs") && document.at("jobs").is_array())
    return JsonList{&document.at("jobs"), "/jobs"};
  std::optional<JsonList> found;
  for (const auto& [key, value] : document.items()) {
    const bool is_list = value.is_array() && !value.empty() && value[0].is_object();
    if (!is_list) continue;
    if (found) return std::nullopt;
    found = JsonList{&value, "/" + key};
  }
  return found;
}

bool is_object_per_line(std::string_view text) {
  const std::size_t end = text.find('\n');
  if (end == std::string_view::npos || text.find_first_not_of(" \t\r\n", end) == std::string_view::npos)
    return false;
  const auto first = config::parse_text(std::string(text.substr(0, end)), "");
  return first && first->is_object();
}

Result<LogTable> table_of_json_lines(std::string_view text, const std::string& file) {
  JsonRows rows(file);
  std::size_t number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    auto object = config::parse_text(std::string(line), file);
    if (!object) {
      Error error = std::move(object).error();
      error.where = {.file = file, .position = Position::line(number)};
      return error;
    }
    GOODPUT_TRY_STATUS(rows.add(*object, {.line = number}));
  }
  return std::move(rows).finish();
}

}  // namespace

Result<LogTable> table_of_json(std::string_view text, const std::string& file) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  if (is_object_per_line(text)) return table_of_json_lines(text, file);
  GOODPUT_TRY(const Json document, config::parse_text(std::string(text), file));
  const auto found = list_in(document);
  if (!found)
    return Error{"must be a list of faults, or an object with exactly one list of objects", {.file = file}};
  JsonRows rows(file);
  for (std::size_t i = 0; i < found->list->size(); ++i)
    GOODPUT_TRY_STATUS(rows.add((*found->list)[i], {.pointer = fmt::format("{}/{}", found->pointer, i)}));
  return std::move(rows).finish();
}

std::vector<std::string> keys_of_json_head(std::string_view head) {
  constexpr std::size_t kLooked = 4096;
  head = head.substr(0, kLooked);
  std::vector<std::string> keys;
  for (std::size_t open = head.find('"'); open != std::string_view::npos;) {
    const std::size_t close = head.find('"', open + 1);
    if (close == std::string_view::npos) break;
    const std::size_t next = head.find_first_not_of(" \t\r\n", close + 1);
    if (next != std::string_view::npos && head[next] == ':')
      keys.emplace_back(head.substr(open + 1, close - open - 1));
    open = head.find('"', close + 1);
  }
  return keys;
}

}  // namespace goodput
