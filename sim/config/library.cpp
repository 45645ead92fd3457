#include "sim/config/library.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <set>
#include <utility>

#include "sim/base/json.h"
#include "sim/base/text.h"
#include "sim/config/json_file.h"

namespace goodput::config {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kSuffix = ".json";
constexpr std::string_view kFileEndings[] = {kSuffix,   ".csv",  ".log", ".sh",   ".slurm",
                                             ".sbatch", ".yaml", ".yml", ".toml", ".txt"};

fs::path file_of(const std::string& folder, const Kind& kind, std::string_view name) {
  return (folder == "." ? fs::path() : fs::path(folder)) / kind.folder /
         (std::string(name) + std::string(kSuffix));
}

std::string content(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// REQUIRES: both are regular files. One that cannot be read is like no other.
bool say_the_same(const fs::path& one, const fs::path& other) {
  std::error_code failed;
  if (fs::equivalent(one, other, failed)) return true;
  return fs::file_size(one, failed) == fs::file_size(other, failed) && content(one) == content(other);
}

// `; did you mean "X"?`, or where no name is that near, the three that come nearest: first those of which it
// is a part, then those that begin alike.
std::string nearest_names(std::string_view name, const std::set<std::string>& known) {
  std::vector<std::string_view> names(known.begin(), known.end());
  if (std::string meant = did_you_mean(name, names); !meant.empty() || names.empty()) return meant;
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
  std::vector<std::string> looked_in;
  std::error_code ignored;
  for (const std::string& folder : library.folders) {
    const fs::path path = fs::path(folder) / kind.folder;
    looked_in.push_back(path.string() + (fs::is_directory(path, ignored) ? "" : " (no such folder)"));
  }
  const std::string where = looked_in.empty() ? "; there is no folder to search"
                                              : fmt::format("; looked in {}", fmt::join(looked_in, ", "));
  return Error{fmt::format("no {} {}{}{}", kind.noun, in_quotes(name),
                           nearest_names(name, names_of(library, kind)), where)};
}

bool has_alias(const Json& config, std::string_view name) {
  if (!config.is_object()) return false;
  const auto aliases = config.find(kAliasesKey);
  return aliases != config.end() && aliases->is_array() &&
         std::ranges::any_of(*aliases, [&](const Json& alias) {
           return alias.is_string() && alias.get<std::string>() == name;
         });
}

// A file that is not JSON has no aliases, and neither does one that another file shadows.
std::optional<std::string> find_by_alias(const Library& library, const Kind& kind, std::string_view name) {
  std::set<std::string> seen;
  for (const std::string& folder : library.folders) {
    for (const std::string& known : names_of({.folders = {folder}}, kind)) {
      if (!seen.insert(known).second) continue;
      std::string file = file_of(folder, kind, known).string();
      const Result<Json> parsed = parse_file(file, library.parsed);
      if (parsed && has_alias(*parsed, name)) return file;
    }
  }
  return std::nullopt;
}

// FOLDER of FOLDER/plans/mine.json, also where plans is a link.
fs::path own_folder(const std::string& file) {
  const fs::path folder = folder_of(file);
  std::error_code failed;
  if (!fs::is_symlink(folder, failed)) return (folder / "..").lexically_normal();
  return fs::canonical(folder, failed).parent_path();
}

}  // namespace

fs::path folder_of(const std::string& file) {
  return file == kStdinFile ? fs::path() : fs::path(file).parent_path();
}

std::set<std::string> names_of(const Library& library, const Kind& kind) {
  std::set<std::string> names;
  std::error_code ignored;
  for (const std::string& folder : library.folders) {
    for (const fs::directory_entry& entry : fs::directory_iterator(fs::path(folder) / kind.folder, ignored)) {
      const bool is_hidden = entry.path().filename().string().starts_with('.');
      if (!is_hidden && entry.path().extension() == kSuffix && entry.is_regular_file(ignored))
        names.insert(entry.path().stem().string());
    }
  }
  return names;
}

bool is_name(std::string_view text) {
  const bool is_file =
      std::ranges::any_of(kFileEndings, [&](std::string_view ending) { return text.ends_with(ending); });
  return !text.empty() && text != "-" && text.find('/') == std::string_view::npos && !is_file;
}

Result<Source> find(const Library& library, const Kind& kind, std::string_view name) {
  Source source;
  std::error_code ignored;
  for (const std::string& folder : library.folders) {
    const fs::path file = file_of(folder, kind, name);
    if (fs::is_regular_file(file, ignored)) {
      if (source.file.empty())
        source.file = file.string();
      else if (!say_the_same(source.file, file))
        source.shadowed.push_back(file.string());
    } else if (source.file.empty() && fs::exists(fs::symlink_status(file, ignored))) {
      return Error{
          fmt::format("is not a regular file, so it cannot be the {} {}", kind.noun, in_quotes(name)),
          {.file = file.string()}};
    }
  }
  if (!source.file.empty()) return source;
  if (auto file = find_by_alias(library, kind, name)) return Source{*std::move(file), {}};
  return not_found(library, kind, name);
}

Result<Source> find_from(const std::string& from, const Library& library, const Kind& kind,
                         std::string_view name) {
  if (from == kStdinFile) return find(library, kind, name);
  const fs::path own = own_folder(from);
  Library seen = library;
  std::error_code ignored;
  const auto same = std::find_if(seen.folders.begin(), seen.folders.end(), [&](const std::string& folder) {
    return fs::equivalent(folder, own, ignored);
  });
  if (same != seen.folders.end())
    *same = own.string();
  else
    seen.folders.insert(seen.folders.begin(), own.string());
  return find(seen, kind, name);
}

}  // namespace goodput::config
