#include "sim/base/append.h"

#include <fmt/format.h>

namespace goodput {

void append_formatted(std::string& to, fmt::string_view format, fmt::format_args arguments) {
  fmt::memory_buffer buffer;
  fmt::vformat_to(std::back_inserter(buffer), format, arguments);
  to.append(buffer.data(), buffer.size());
}

}  // namespace goodput
