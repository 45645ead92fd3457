// Config files by name: a model "x" is the file x.json of models/ in the first folder that has one.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"

namespace goodput::config {

// What a name stands for: a file of this sub-folder of a library's folders.
struct Kind {
  std::string_view folder;  // models
  std::string_view noun;    // model
};

struct Library {
  std::vector<std::string> folders{};  // each with models/, clusters/, plans/, ...; the first ones first
};

// A config file that was read.
struct Source {
  std::string file{};
  std::vector<std::string> shadowed{};  // of the same name in later folders of the library, and not the same
};

// Has the form of a name: no "/", no ".json" at its end, not "-".
[[nodiscard]] bool is_name(std::string_view text);

// Fails with the nearest names and where it looked.
[[nodiscard]] Result<Source> find(const Library& library, const Kind& kind, std::string_view name);

// As seen from the config file `from`: the folder it stands in, as in FOLDER/plans/mine.json, comes first,
// unless it is one of the library's. A file beside `from` shadows nothing.
[[nodiscard]] Result<Source> find_from(const std::string& from, const Library& library, const Kind& kind,
                                       std::string_view name);

}  // namespace goodput::config
