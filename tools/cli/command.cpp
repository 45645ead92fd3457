#include "tools/cli/command.h"

#include <ostream>

#include "sim/base/text.h"

namespace goodput {

void CommandContext::print(std::string_view text) const {
  if (!options.quiet && !options.json_on_stdout()) out << text;
}

void CommandContext::note(std::string_view text) const {
  if (!options.quiet) err << "note: " << on_one_line(text) << '\n';
}

}  // namespace goodput
