// The config files that go by a name, for `goodput list`: a line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/config/library.h"

namespace goodput {

struct Listed {
  std::string name;
  std::string summary;
  config::Source source{};  // of a config
};

struct Listing {
  std::vector<Listed> items{};
  std::vector<Error> errors{};  // of files that cannot be read
  std::string note{};           // why there are none, where that is to be known
};

// A kind of config files as `goodput list` calls it.
struct ConfigKind {
  std::string_view name;
  config::Kind kind;
  Result<std::string> (*describe)(const std::string& file, const config::Library& library);
};
[[nodiscard]] std::vector<ConfigKind> config_kinds();

// The library's files of this kind, by name, each as it would be found.
Result<Listing> list_configs(const ConfigKind& kind, const config::Library& library);

}  // namespace goodput
