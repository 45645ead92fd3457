#include "sim/config/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "sim/base/text.h"
#include "sim/config/config.h"

namespace goodput::config {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 24;
constexpr int kDeepestNesting = 64;

// Finds what nlohmann passes over in silence: a key given twice, and nesting no config has.
class StructureCheck {
 public:
  explicit StructureCheck(std::string file) : file_(std::move(file)) {}

  // False: there is a problem, what follows need not be kept.
  bool see(int depth, json::parse_event_t event, const json& value) {
    if (problem_) return false;
    switch (event) {
      case json::parse_event_t::object_start:
      case json::parse_event_t::array_start:
        if (depth >= kDeepestNesting) problem_ = Error{"is nested too deeply for a config", {.file = file_}};
        open_.push_back({.is_array = event == json::parse_event_t::array_start, .keys = {}, .key = {}});
        break;
      case json::parse_event_t::object_end:
      case json::parse_event_t::array_end:
        open_.pop_back();
        count_element();
        break;
      case json::parse_event_t::value:
        count_element();
        break;
      case json::parse_event_t::key:
        open_.back().key = value.get<std::string>();
        if (!open_.back().keys.insert(open_.back().key).second) problem_ = place().error("is given twice");
        break;
    }
    return !problem_;
  }
  [[nodiscard]] const std::optional<Error>& problem() const { return problem_; }

 private:
  struct Level {
    bool is_array = false;
    std::set<std::string> keys;
    std::string key;
    std::size_t elements = 0;
  };

  void count_element() {
    if (!open_.empty()) ++open_.back().elements;
  }
  [[nodiscard]] Place place() const {
    Place result{file_, {}, {}};
    for (const Level& level : open_)
      result = result.at(level.is_array ? std::to_string(level.elements) : level.key);
    return result;
  }

  std::string file_;
  std::vector<Level> open_;
  std::optional<Error> problem_;
};

// nlohmann's "[...] parse error at line 1, column 2: syntax error while parsing X - WHAT; last read: 'Y'; Z".
std::string reason_of(std::string_view message) {
  if (const auto dash = message.find(" - "); dash != std::string_view::npos)
    message.remove_prefix(dash + 3);
  else if (const auto bracket = message.find("] "); bracket != std::string_view::npos)
    message.remove_prefix(bracket + 2);
  std::string reason(message);
  constexpr std::string_view kLastRead = "; last read: '";
  if (const auto begin = reason.find(kLastRead); begin != std::string::npos) {
    const auto end = reason.find("'; expected", begin);
    reason.erase(begin, end == std::string::npos ? end : end + 1 - begin);
  }
  return on_one_line(reason);
}

Error syntax_error(const std::string& file, const std::string& text, const json::parse_error& error) {
  const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
  const std::string_view before = std::string_view(text).substr(0, at);
  const auto line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return {"is no JSON: " + reason_of(error.what()), {.file = file, .position = Position::line(line, column)}};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Result<std::string> text_of(const std::string& file) {
  std::error_code failure;
  const fs::file_status status = fs::status(file, failure);
  if (!fs::exists(status)) return Error{"no such file", {.file = file}};
  if (fs::is_directory(status)) return Error{"is a directory, want a JSON file", {.file = file}};
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    text.append(buffer.data(), got);
    if (text.size() > kLargestFile) {
      return Error{fmt::format("is larger than {} MiB, too large for a config", kLargestFile >> 20),
                   {.file = file}};
    }
  }
  if (std::ferror(stream.get()))
    return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  return text;
}

}  // namespace

Result<json> parse_file(const std::string& file) {
  GOODPUT_TRY(const std::string text, text_of(file));
  return parse_text(text, file);
}

Result<json> parse_text(const std::string& text, const std::string& file) {
  try {
    StructureCheck structure(file);
    json value = json::parse(text, [&](int depth, json::parse_event_t event, const json& parsed) {
      return structure.see(depth, event, parsed);
    });
    if (const auto& problem = structure.problem()) return *problem;
    return value;
  } catch (const json::parse_error& error) {
    return syntax_error(file, text, error);
  } catch (const json::exception& error) {  // 1e999
    return Error{"is no JSON: " + reason_of(error.what()), {.file = file}};
  }
}

ParsedFiles::ParsedFiles() = default;
ParsedFiles::~ParsedFiles() = default;

Result<json> ParsedFiles::at(const std::string& file) {
  const Result<json>* parsed = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<const Result<json>>& entry = files_[file];
    if (!entry) entry = std::make_unique<const Result<json>>(parse_file(file));
    parsed = entry.get();
  }
  return *parsed;
}

Result<json> parse_file(const std::string& file, ParsedFiles* parsed) {
  return parsed == nullptr ? parse_file(file) : parsed->at(file);
}

}  // namespace goodput::config
