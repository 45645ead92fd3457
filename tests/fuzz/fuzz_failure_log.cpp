// Failure logs: read, made a history of, and estimated from.
#include <fmt/format.h>

#include "models/reliability/failure_estimate.h"
#include "sim/nodes/fault_history.h"
#include "tests/fuzz/fuzz_target.h"
#include "traces/faults/fault_reader.h"
#include "traces/faults/job_faults.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace goodput;
  const std::string text(reinterpret_cast<const char*>(data), size);  // NOLINT(*-reinterpret-cast)
  static_cast<void>(is_fault_list(text));
  const auto table = parse_log_table(text, "log");
  if (!table) return 0;
  FailureLog log;
  if (!add_failure_log(*table, {}, log)) return 0;
  if (!log.jobs.empty()) {
    const auto found = job_faults(log, {.counts_failed = true});
    if (found) GOODPUT_CHECK(found->history.up_time > 0, "jobs must have held nodes");
  }
  const auto history = fault_history(log, {});
  if (!history || history->up_time <= 0) return 0;
  const FailureEstimate estimate = estimate_failures(*history, {});
  GOODPUT_CHECK(estimate.all.low <= estimate.all.value && estimate.all.value <= estimate.all.high,
                fmt::format("{} must be in its interval", estimate.all.value));
  return 0;
}
