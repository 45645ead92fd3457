#include "sim/base/errors.h"

#include <fmt/format.h>

namespace goodput {

void fail_check(const char* file, int line, const char* condition, const std::string& message) {
  throw InternalError(fmt::format("{}:{}: {} ({})", file, line, message, condition));
}

}  // namespace goodput
