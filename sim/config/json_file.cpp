#include "sim/config/json_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <set>
#include <vector>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/config.h"

namespace goodput::config {
namespace {

namespace fs = std::filesystem;

constexpr std::uintmax_t kLargestFile = std::uintmax_t{1} << 24;
constexpr std::size_t kDeepestNesting = 64;

// Finds what the parser accepts and no config has: a key given twice, and deep nesting.
class StructureCheck final : public JsonEvents {
 public:
  explicit StructureCheck(std::string file) : file_(std::move(file)) {}

  bool scalar(std::string_view /*json*/) override { return count_element(); }
  bool text(std::string_view /*text*/) override { return count_element(); }
  bool start_object() override { return open(false); }
  bool start_array() override { return open(true); }
  bool end_object() override { return close(); }
  bool end_array() override { return close(); }
  bool key(std::string_view name) override {
    open_.back().key = name;
    if (!open_.back().keys.insert(open_.back().key).second) problem_ = place().error("is given twice");
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

  bool open(bool is_array) {
    if (open_.size() >= kDeepestNesting)
      problem_ = Error{"is nested too deeply for a config", {.file = file_}};
    open_.push_back({.is_array = is_array, .keys = {}, .key = {}});
    return !problem_;
  }
  bool close() {
    open_.pop_back();
    return count_element();
  }
  bool count_element() {
    if (!open_.empty()) ++open_.back().elements;
    return true;
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

Error syntax_error(const std::string& file, const std::string& text, const JsonParseError& error) {
  const std::size_t at = std::min(error.byte == 0 ? 0 : error.byte - 1, text.size());
  const std::string_view before = std::string_view(text).substr(0, at);
  const auto line = 1 + static_cast<std::size_t>(std::count(before.begin(), before.end(), '\n'));
  const std::size_t column = at - (before.rfind('\n') + 1) + 1;  // npos + 1 is 0
  return {"is not valid JSON: " + reason_of(error.what()),
          {.file = file, .position = Position::line(line, column)}};
}

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Result<std::string> text_of(const std::string& file) {
  std::error_code failure;
  const fs::file_status status = fs::status(file, failure);
  if (!fs::exists(status)) return Error{"no such file", {.file = file}};
  if (fs::is_directory(status)) return Error{"is a directory, not a JSON file", {.file = file}};
  const std::unique_ptr<std::FILE, CloseFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    text.append(buffer.data(), got);
    if (text.size() > kLargestFile) {
      return Error{fmt::format("is larger than {} MiB, the maximum for a config", kLargestFile >> 20),
                   {.file = file}};
    }
  }
  if (std::ferror(stream.get()))
    return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  return text;
}

}  // namespace

Result<Json> parse_file(const std::string& file) {
  GOODPUT_TRY(const std::string text, text_of(file));
  return parse_text(text, file);
}

Result<Json> parse_text(const std::string& text, const std::string& file) {
  StructureCheck structure(file);
  try {
    return Json::parse(text, &structure);
  } catch (const JsonParseError& error) {
    return syntax_error(file, text, error);
  } catch (const JsonError& error) {  // 1e999
    if (const auto& problem = structure.problem()) return *problem;
    return Error{"is not valid JSON: " + reason_of(error.what()), {.file = file}};
  }
}

ParsedFiles::ParsedFiles() = default;
ParsedFiles::~ParsedFiles() = default;

Result<Json> ParsedFiles::at(const std::string& file) {
  const Result<Json>* parsed = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    std::unique_ptr<const Result<Json>>& entry = files_[file];
    if (!entry) entry = std::make_unique<const Result<Json>>(parse_file(file));
    parsed = entry.get();
  }
  return *parsed;
}

Result<Json> parse_file(const std::string& file, ParsedFiles* parsed) {
  return parsed == nullptr ? parse_file(file) : parsed->at(file);
}

Result<Json> parse_file(const std::string& file, const Library& library, const Kind& kind) {
  if (library.foreign) {
    if (auto read = library.foreign->read(file, kind, library)) return *std::move(read);
  }
  return parse_file(file, library.parsed);
}

}  // namespace goodput::config
