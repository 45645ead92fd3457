#include "models/launch/launch_format.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "sim/base/registry.h"
#include "sim/base/text.h"

namespace goodput::launch {
namespace {

struct CloseLaunchFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};

// The lines of a text without the blanks before them.
template <typename Take>
bool any_line(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    while (!line.empty() &&
           (line.front() == ' ' || line.front() == '\t' || line.front() == '{' || line.front() == ','))
      line.remove_prefix(1);
    if (take(line)) return true;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

}  // namespace

bool LaunchText::is_json() const {
  const auto first = std::ranges::find_if(text, [](unsigned char c) { return std::isspace(c) == 0; });
  return first != text.end() && *first == '{';
}

bool LaunchText::has_key(std::string_view key) const {
  if (is_json()) return text.find(fmt::format("\"{}\"", key)) != std::string::npos;
  return any_line(text, [&](std::string_view line) {
    if (!line.starts_with(key)) return false;
    line.remove_prefix(key.size());
    while (line.starts_with(' ')) line.remove_prefix(1);
    return line.starts_with(':') || line.starts_with('=');
  });
}

bool LaunchText::has_section(std::string_view name) const {
  return any_line(text, [&](std::string_view line) { return line.starts_with(fmt::format("[{}]", name)); });
}

std::span<const LaunchFormat> launch_formats() {
  static const Registry<LaunchFormat> formats{
#define GOODPUT_LAUNCH_FORMAT(name) launch_format_##name(),
#include "models/launch/launch_formats.def"
#undef GOODPUT_LAUNCH_FORMAT
  };
  return formats.infos();
}

const LaunchFormat* format_of(const LaunchText& launch) {
  const auto formats = launch_formats();
  const auto found =
      std::ranges::find_if(formats, [&](const LaunchFormat& format) { return format.matches(launch); });
  return found == formats.end() ? nullptr : &*found;
}

Result<LaunchText> read_launch_text(const std::string& file) {
  std::error_code failed;
  if (!std::filesystem::exists(file, failed)) return Error{"no such file", {.file = file}};
  if (std::filesystem::is_directory(file, failed)) return Error{"is a directory, not a file", {.file = file}};
  const std::unique_ptr<std::FILE, CloseLaunchFile> stream(std::fopen(file.c_str(), "rb"));
  if (!stream) return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  LaunchText launch{file, {}};
  std::array<char, 1 << 16> buffer;
  while (const std::size_t got = std::fread(buffer.data(), 1, buffer.size(), stream.get())) {
    launch.text.append(buffer.data(), got);
    if (launch.text.size() > kLargestLaunchFile)
      return Error{"is larger than 1 MiB, the maximum for a launch file", {.file = file}};
  }
  if (std::ferror(stream.get()) != 0)
    return Error{fmt::format("cannot be read: {}", std::strerror(errno)), {.file = file}};
  std::erase(launch.text, '\0');
  constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
  if (launch.text.starts_with(kByteOrderMark)) launch.text.erase(0, kByteOrderMark.size());
  return launch;
}

}  // namespace goodput::launch
