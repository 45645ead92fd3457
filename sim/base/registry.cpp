#include "sim/base/registry.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "sim/base/text.h"

namespace goodput {

Error unknown_name(std::string_view kind, std::string_view name, std::span<const std::string_view> known) {
  return Error{fmt::format("unknown {} {}{}; known: {}", kind, in_quotes(name), did_you_mean(name, known),
                           fmt::join(known, ", "))};
}

Result<std::size_t> index_of_name(std::span<const std::string_view> known, std::string_view kind,
                                  std::string_view name) {
  const auto found = std::find(known.begin(), known.end(), name);
  if (found == known.end()) return unknown_name(kind, name, known);
  return static_cast<std::size_t>(found - known.begin());
}

void check_names(std::span<const std::string_view> names) {
  for (auto name = names.begin(); name != names.end(); ++name) {
    GOODPUT_CHECK(!name->empty(), "an entry has no name");
    GOODPUT_CHECK(std::find(names.begin(), name, *name) == name,
                  fmt::format("two entries have the name {}", in_quotes(*name)));
  }
}

}  // namespace goodput
