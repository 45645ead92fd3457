#include "tools/report/result_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>

#include "sim/base/text.h"

namespace goodput {
namespace {

using Json = nlohmann::ordered_json;

// The largest results that a page can show: of 2^18 workers, say. What is larger is no result.
constexpr std::uintmax_t kLargestResult = std::uintmax_t{256} << 20;
constexpr int kDeepestNesting = 64;

struct CloseResultFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

Result<std::string> read_text(const std::string& file) {
  const auto unreadable = [&file] {
    return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  };
  std::error_code failed;
  if (std::filesystem::is_directory(file, failed))
    return Error{"is a directory, want a file", {.file = file}};
  const std::unique_ptr<std::FILE, CloseResultFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return unreadable();
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    text.append(buffer.data(), got);
    if (text.size() > kLargestResult)
      return Error{fmt::format("is larger than {} MiB, too large for a page", kLargestResult >> 20),
                   {.file = file}};
  }
  if (std::ferror(stream.get())) return unreadable();
  return text;
}

Result<Json> parse(const std::string& text, const std::string& file) {
  bool is_too_deep = false;
  const auto see = [&is_too_deep](int depth, Json::parse_event_t, const Json&) {
    is_too_deep = is_too_deep || depth > kDeepestNesting;
    return !is_too_deep;
  };
  try {
    Json result = Json::parse(text, see);
    if (is_too_deep) return Error{"is nested too deeply for a result", {.file = file}};
    return result;
  } catch (const Json::exception&) {
    return Error{"is no JSON; wants what a command wrote to --json", {.file = file}};
  }
}

// Whether `schema` is goodput.NAME/VERSION, for which version.
Status check_schema(const std::string& schema, const std::string& file) {
  const std::size_t slash = schema.find('/');
  if (!schema.starts_with("goodput.") || slash == std::string::npos || slash == std::strlen("goodput."))
    return Error{
        fmt::format("has the schema {}, which is none of goodput; wants what a command wrote to --json",
                    in_quotes(schema)),
        {.file = file}};
  if (schema.substr(slash + 1) != "1")
    return Error{
        fmt::format("has the schema {}; this version reads version 1, so use the goodput that wrote it",
                    in_quotes(schema)),
        {.file = file}};
  return Ok{};
}

}  // namespace

Result<PageResult> read_result_file(const std::string& file, std::string name) {
  GOODPUT_TRY(const std::string text, read_text(file));
  GOODPUT_TRY(const Json result, parse(text, file));
  if (!result.is_object() || !result.contains("schema") || !result["schema"].is_string())
    return Error{"has no schema; wants what a command wrote to --json", {.file = file}};
  GOODPUT_TRY_STATUS(check_schema(result["schema"].get<std::string>(), file));
  return page_result(std::move(name), result);
}

}  // namespace goodput
