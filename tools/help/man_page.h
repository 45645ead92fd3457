// The manual page, goodput(1), from what the command line can say.
#pragma once

#include <string>
#include <string_view>

#include "tools/cli/command_help.h"

namespace goodput {

// As roff with the man macros. `version`: in the footer.
[[nodiscard]] std::string man_page(const CommandHelp& program, std::string_view version);

}  // namespace goodput
