// Launches that share a kernel: collectives in a coalescing manager, and batched sends and receives.
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

// For every record that has a kernel: the records without one whose work that kernel also does. Kineto links
// a shared kernel either to the first of its launches or to the last, always the same in one file. To find
// out which, this looks at whether most records without a kernel are nearer in time to the record with a
// kernel before them or to the one after them, in the same group and without a wait in between. `records`:
// sorted by begin.
[[nodiscard]] std::vector<std::vector<std::size_t>> carried_launches(const KinetoEvents& events,
                                                                     std::span<const CommRecord> records);

}  // namespace goodput
