#include "models/job/misfit_warnings.h"

namespace goodput {

std::vector<std::string> misfit_warnings(const Result<MemoryReport>& memory) {
  if (!memory || memory->fits()) return {};
  return {memory->verdict()};
}

}  // namespace goodput
