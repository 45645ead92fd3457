#include "sim/config/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>

#include "sim/base/text.h"

namespace goodput::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";

std::vector<std::string> names_in(const fs::path& folder) {
  std::vector<std::string> names;
  std::error_code ignored;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().extension() == kSuffix) names.push_back(entry.path().stem().string());
  }
  return names;
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// `; did you mean "X"?`, or where no name is that near, the three that come nearest: first those of which it
// is a part, then those that begin alike.
std::string nearest_names(std::string_view name, const std::set<std::string>& known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  if (const std::string meant = did_you_mean(name, names); !meant.empty() || names.empty()) return meant;
  const auto distance = [&](std::string_view candidate) {
    const auto differs = std::mismatch(name.begin(), name.end(), candidate.begin(), candidate.end()).first;
    return std::pair{candidate.find(name) == std::string_view::npos, name.end() - differs};
  };
  std::stable_sort(names.begin(), names.end(),
                   [&](std::string_view a, std::string_view b) { return distance(a) < distance(b); });
  names.resize(std::min<std::size_t>(names.size(), 3));
  return fmt::format("; nearest: {}", fmt::join(names, ", "));
}

Error not_found(const Library& library, const Kind& kind, std::string_view name) {
  std::set<std::string> known;
  std::vector<std::string> looked_in;
  std::error_code ignored;
  for (const std::string& folder : library.folders) {
    const fs::path path = fs::path(folder) / kind.folder;
    const std::vector<std::string> names = names_in(path);
    known.insert(names.begin(), names.end());
    looked_in.push_back(path.string() + (fs::is_directory(path, ignored) ? "" : " (no such folder)"));
  }
  const std::string where = looked_in.empty() ? "; there is no folder to look in"
                                              : fmt::format("; looked in {}", fmt::join(looked_in, ", "));
  return Error{fmt::format("no {} {}{}{}", kind.noun, in_quotes(name), nearest_names(name, known), where)};
}

}  // namespace

bool is_name(std::string_view text) {
  return !text.empty() && text != "-" && text.find('/') == std::string_view::npos && !text.ends_with(kSuffix);
}

Result<Source> find(const Library& library, const Kind& kind, std::string_view name) {
  Source source;
  std::error_code ignored;
  for (const std::string& folder : library.folders) {
    const fs::path file = fs::path(folder) / kind.folder / (std::string(name) + std::string(kSuffix));
    if (!fs::exists(file, ignored)) continue;
    if (source.file.empty())
      source.file = file.string();
    else if (content(source.file) != content(file))
      source.shadowed.push_back(file.string());
  }
  if (source.file.empty()) return not_found(library, kind, name);
  return source;
}

Result<Source> find_from(const std::string& from, const Library& library, const Kind& kind,
                         std::string_view name) {
  const fs::path own = (fs::path(from).parent_path() / "..").lexically_normal();
  Library seen = library;
  std::error_code ignored;
  for (std::string& folder : seen.folders) {
    if (!fs::equivalent(folder, own, ignored)) continue;
    folder = own.string();
    return find(seen, kind, name);
  }
  seen.folders.insert(seen.folders.begin(), own.string());
  GOODPUT_TRY(Source source, find(seen, kind, name));
  if (source.file.starts_with(fs::path(own / kind.folder).string())) source.shadowed.clear();
  return source;
}

}  // namespace goodput::config
