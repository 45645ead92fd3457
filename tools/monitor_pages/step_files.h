// Files of a step that a browser saves: its timeline for a trace viewer, its rows for `goodput whatif`.
#pragma once

#include <mutex>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// The bytes of timeline.json.gz (traces/timeline/step_timeline.h).
[[nodiscard]] Result<std::string> timeline_file(OpTrace rows);
// The bytes of rows.csv.gz (docs/formats/op-traces.md).
[[nodiscard]] Result<std::string> rows_file(const OpTrace& rows);

// Lets one in at a time: such a file takes a second of a core and some hundred bytes an op while it is made.
class FileTurn {
 public:
  // Empty of ownership: somebody is in.
  [[nodiscard]] std::unique_lock<std::mutex> enter() { return std::unique_lock(mutex_, std::try_to_lock); }

 private:
  std::mutex mutex_;
};

}  // namespace goodput
