// The config files that lie beside the program, for `goodput list`: a line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput {

struct Listed {
  std::string name;
  std::string summary;
};

struct Listing {
  std::vector<Listed> items{};
  std::string note{};  // why there are none, where that is to be known
};

// A kind of config files: those of one folder.
struct ConfigKind {
  std::string_view name;    // for `goodput list`
  std::string_view folder;  // of the folder with all configs
  Result<std::string> (*describe)(const std::string& file);
};
[[nodiscard]] std::vector<ConfigKind> config_kinds();

// The files of this kind, by name; the first that cannot be read fails. `configs`: the folder with all
// configs; empty: the one above the program. It needs to have models, not every other kind.
Result<Listing> list_configs(const ConfigKind& kind, std::string configs);

}  // namespace goodput
