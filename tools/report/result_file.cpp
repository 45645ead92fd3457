#include "tools/report/result_file.h"

#include <fmt/format.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <utility>

namespace goodput {
namespace {

// The largest results that a page can show: of 2^18 workers, say. What is larger is no result.
constexpr std::uintmax_t kLargestResult = std::uintmax_t{256} << 20;

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
  const Error too_large{fmt::format("is larger than {} MiB, too large for a page", kLargestResult >> 20),
                        {.file = file}};
  const std::uintmax_t size = std::filesystem::file_size(file, failed);  // a pipe has none
  if (!failed && size > kLargestResult) return too_large;
  const std::unique_ptr<std::FILE, CloseResultFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return unreadable();
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    text.append(buffer.data(), got);
    if (text.size() > kLargestResult) return too_large;
  }
  if (std::ferror(stream.get())) return unreadable();
  return text;
}

}  // namespace

Result<PageResult> read_result_file(const std::string& file, std::string name) {
  GOODPUT_TRY(const std::string text, read_text(file));
  Result<PageResult> result = page_result(std::move(name), text);
  if (!result) return std::move(result).error().in_file(file);
  return result;
}

}  // namespace goodput
