#include "traces/io/formats.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/text.h"

namespace goodput {

Error no_known_format(std::string_view kind, std::span<const std::string_view> known, const std::string& path,
                      std::string_view head) {
  constexpr std::size_t kShownBytes = 24;
  return Error{fmt::format("is no {} in a known format ({}; say `goodput list formats`); it begins "
                           "with {}",
                           kind, fmt::join(known, ", "),
                           in_quotes(head.substr(0, std::min(head.find('\n'), kShownBytes)))),
               {.file = path}};
}

Error no_known_extension(const std::string& path, std::span<const std::string_view> extensions) {
  return Error{fmt::format("cannot tell the output format from the name; end it in one of {}",
                           fmt::join(extensions, ", ")),
               {.file = path}};
}

}  // namespace goodput
