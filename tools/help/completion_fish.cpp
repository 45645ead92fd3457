#include "tools/help/completion.h"

namespace goodput {

std::string fish_completion(const CommandHelp& program) {
  return program.name;
}

}  // namespace goodput
