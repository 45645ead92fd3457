#include "tools/cli/config_files.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>

#include "sim/base/text.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

// One of these makes a folder one of configs.
constexpr std::string_view kHeld[] = {"models",    "clusters", "stacks",    "plans",       "recipes",
                                      "scenarios", "sweeps",   "questions", "calibration", "routing",
                                      "suites",    "failures", "fleets",    "alerts"};

bool holds_configs(const fs::path& folder) {
  std::error_code ignored;
  return std::any_of(std::begin(kHeld), std::end(kHeld),
                     [&](std::string_view held) { return fs::is_directory(folder / held, ignored); });
}

// `option`: --configs or GOODPUT_CONFIGS.
Status check_folder(std::string_view option, const std::string& folder) {
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored))
    return Error{fmt::format("{}: {} is not a folder", option, in_quotes(folder))};
  if (holds_configs(folder)) return Ok{};
  return Error{fmt::format("{}: {} contains no configs; name a folder that has at least one of {}", option,
                           in_quotes(folder), fmt::join(kHeld, ", "))};
}

// Installed, or built inside the repository: above the program.
std::optional<std::string> shipped_configs() {
  std::error_code failed;
  const fs::path program = fs::read_symlink("/proc/self/exe", failed);
  for (fs::path above = program.parent_path(); !failed && above.has_relative_path();
       above = above.parent_path()) {
    const fs::path installed = above / "share/goodput/configs";
    if (fs::is_directory(installed / "models", failed)) return installed.string();
    const bool is_clone = fs::exists(above / "goodput-setup", failed);
    if (is_clone && fs::is_directory(above / "configs/models", failed)) return (above / "configs").string();
    failed.clear();
  }
  return std::nullopt;
}

// `x.json` for a plan that is known as x.
std::string meant_name(const std::string& path, const config::Kind& kind, const config::Library& library) {
  const std::string name = fs::path(path).stem().string();
  return config::is_name(name) && config::find(library, kind, name)
             ? fmt::format("; did you mean the {} named {}?", kind.noun, in_quotes(name))
             : "";
}

}  // namespace

Result<config::Library> config_library(const CommandContext& context) {
  config::Library library;
  library.foreign = context.foreign_files;
  library.note = [&context](const std::string& text) { context.note(text); };
  for (const std::string& folder : context.options.configs) {
    GOODPUT_TRY_STATUS(check_folder("--configs", folder));
    library.folders.push_back(folder);
  }
  const std::string more = context.variable("GOODPUT_CONFIGS");
  for (const std::string_view folder : split(more, ':')) {
    if (folder.empty()) continue;
    GOODPUT_TRY_STATUS(check_folder("GOODPUT_CONFIGS", std::string(folder)));
    library.folders.emplace_back(folder);
  }
  if (auto shipped = shipped_configs()) library.folders.push_back(*std::move(shipped));
  return library;
}

Result<std::string> config_file(const std::string& argument, const config::Kind& kind,
                                const config::Library& library, const CommandContext& context) {
  std::error_code ignored;
  const bool is_here = fs::exists(argument, ignored) && !fs::is_directory(argument, ignored);
  if (!config::is_name(argument)) {
    if (fs::exists(argument, ignored)) return argument;
    return Error{"no such file" + meant_name(argument, kind, library), {.file = argument}};
  }
  const Result<config::Source> found = config::find(library, kind, argument);
  if (!found) return is_here ? Result<std::string>(argument) : found.error();
  if (is_here)
    context.note(fmt::format("using {}, not the file {} in this folder", found->file, in_quotes(argument)));
  note_shadowed({&*found, 1}, context);
  return found->file;
}

void note_shadowed(std::span<const config::Source> sources, const CommandContext& context) {
  for (const config::Source& source : sources) {
    if (source.shadowed.empty()) continue;
    context.note(fmt::format("using {}, which shadows {}", source.file, fmt::join(source.shadowed, ", ")));
  }
}

std::vector<std::string> files_of(std::span<const config::Source> sources) {
  std::vector<std::string> files;
  for (const config::Source& source : sources) files.push_back(source.file);
  return files;
}

}  // namespace goodput
