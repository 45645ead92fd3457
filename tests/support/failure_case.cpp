#include "tests/support/failure_case.h"

#include <stdexcept>

#include "sim/base/json.h"

namespace goodput::testing {

std::vector<FailureConfig> failures_from(std::string_view json) {
  std::vector<FailureConfig> failures;
  config::Place place;
  const Status read = failures_value(failures).read(Json::parse(json), place);
  if (!read) throw std::invalid_argument(read.error().message());
  return failures;
}

}  // namespace goodput::testing
