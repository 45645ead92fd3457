// Launches that share a kernel: those of a coalescing manager, and batched sends and receives.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "traces/kineto/kineto_events.h"

namespace goodput {

// A `record_param_comms` of the host.
struct CommRecord {
  std::int64_t begin_ns = 0;
  std::uint64_t external_id = 0;
  const KinetoCommArgs* args = nullptr;
  bool has_kernel = false;
};

// By record with a kernel: the records without one whose work it does, too. The kernel is linked to the first
// or to the last of them, the same in all of a file; which one is told by whether most records without a
// kernel are nearer to the one before or to the one behind them, within their group and with no wait between.
// `records`: by begin.
[[nodiscard]] std::vector<std::vector<std::size_t>> carried_launches(const KinetoEvents& events,
                                                                     std::span<const CommRecord> records);

}  // namespace goodput
