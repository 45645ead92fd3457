// A failure log from text, for tests.
#pragma once

#include <doctest/doctest.h>

#include <string>
#include <string_view>

#include "sim/nodes/fault_log.h"
#include "traces/faults/fault_reader.h"

namespace goodput::testing {

inline FailureLog read_log(std::string_view text, const FaultLogOptions& options = {}) {
  const auto table = parse_log_table(text, "log");
  REQUIRE_MESSAGE(table, (table ? "" : table.error().message()));
  FailureLog log;
  const Status added = add_failure_log(*table, options, log);
  INFO((added ? "" : added.error().message()));
  REQUIRE(added);
  return log;
}

inline std::string log_error(std::string_view text, const FaultLogOptions& options = {}) {
  const auto table = parse_log_table(text, "log");
  if (!table) return table.error().message();
  FailureLog log;
  const Status added = add_failure_log(*table, options, log);
  REQUIRE_FALSE(added);
  CHECK(added.error().message().find('\n') == std::string::npos);
  return added.error().message();
}

}  // namespace goodput::testing
