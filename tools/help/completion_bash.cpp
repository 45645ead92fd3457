#include "tools/help/completion.h"

namespace goodput {

std::string bash_completion(const CommandHelp& program) {
  return program.name;
}

}  // namespace goodput
