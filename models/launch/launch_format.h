// Launch files of training frameworks: recognized by what they hold, read into a draft of a plan.
//
// A format is a file that defines `launch_format_<name>()` and a line in launch_formats.def
// (sim/base/registry.h).
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "models/launch/launch_draft.h"
#include "sim/base/errors.h"
#include "sim/config/library.h"

namespace goodput::launch {

inline constexpr std::size_t kLargestLaunchFile = std::size_t{1} << 20;

struct LaunchText {
  std::string file{};
  std::string text{};

  [[nodiscard]] bool is_json() const;
  // Whether a line begins with this key of JSON, YAML or TOML, in quotation marks or not.
  [[nodiscard]] bool has_key(std::string_view key) const;
  // Whether a line is "[name]".
  [[nodiscard]] bool has_section(std::string_view name) const;
};

struct LaunchOptions {
  std::map<std::string, std::string> environment{};  // shell variables that are set outside the script
  bool has_recipe = false;                           // the draft has a recipe, which the file overrides
  const config::Library* library = nullptr;          // where models are looked up; never null
};

struct LaunchFormat {
  std::string_view name;
  std::string_view title;    // "a Hugging Face config"
  std::string_view summary;  // for lists
  bool describes_model_only = false;
  bool overrides_recipe = false;  // changes a recipe that the user names
  bool (*matches)(const LaunchText& launch);
  // Several files come to one draft. Errors have the place in the file.
  Status (*read)(const LaunchText& launch, const LaunchOptions& options, LaunchDraft& draft);
};

#define GOODPUT_LAUNCH_FORMAT(name) [[nodiscard]] LaunchFormat launch_format_##name();
#include "models/launch/launch_formats.def"
#undef GOODPUT_LAUNCH_FORMAT

// In the order in which they are tried.
[[nodiscard]] std::span<const LaunchFormat> launch_formats();

// None: the file is in no format of another framework.
[[nodiscard]] const LaunchFormat* format_of(const LaunchText& launch);

// Fails on a file that cannot be read or is larger than kLargestLaunchFile.
Result<LaunchText> read_launch_text(const std::string& file);

}  // namespace goodput::launch
