#include "tests/models/failure/failure_stream.h"

#include "sim/base/json.h"

namespace goodput::testing {

Result<std::vector<FailureConfig>> read_failures(std::string_view text) {
  std::vector<FailureConfig> failures;
  config::Place place{"folder/job.json", "/failures", {}};
  GOODPUT_TRY_STATUS(failures_value(failures).read(Json::parse(text), place));
  return failures;
}

}  // namespace goodput::testing
