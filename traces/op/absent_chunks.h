// Model chunks and micro-batches that a trace with seq_id leaves out.
#pragma once

#include <optional>
#include <string>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// Sets what follows from the rest, in place: gmc = mc * stages + stage of passes; and where no stage has more
// than one chunk (no mc above 0, and `vpp_size` 1), mc 0 of passes, params-all-gathers and
// grads-reduce-scatters and mb_id = seq_id of passes. What is set already stays. Returns what was done, for
// people; empty: nothing. REQUIRES: no seq_id is kUnset.
[[nodiscard]] std::string fill_absent_chunks(OpTrace& trace, int vpp_size);

// Whether no row has a model chunk.
[[nodiscard]] bool lacks_chunks(const OpTrace& trace);

// Of such a trace the order of the passes says how many chunks a stage has: of several (`vpp_size`), chunks
// and micro-batches are taken from it (traces/op/ndtimeline_ids.h), in place. Fails when it does not fit
// `vpp_size`, or when that is absent and the order is that of several chunks. Returns as above.
[[nodiscard]] Result<std::string> recover_chunks(OpTrace& trace, std::optional<int> vpp_size);

}  // namespace goodput
