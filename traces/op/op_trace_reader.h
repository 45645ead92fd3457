// Reads an op trace from one or many files in any known format.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/job_rows.h"

namespace goodput {

struct OpTraceReadOptions {
  std::string format;           // a name of op_trace_formats(); empty: from each file's content
  std::optional<int> vpp_size;  // for traces without model chunks; absent: 1
  bool strict = false;          // rows that say nothing are errors, instead of findings

  double seconds_per_unit =
      1;  // of start_ts and duration in tables (CSV, Parquet); others have their own unit

  // Called now and then with the bytes read so far of all files together.
  std::function<void(std::uint64_t)> on_progress;
};

// The rows of all files together are one trace (one file a host). Rows of damaged times and unknown types,
// and records that are cut short, are left out, and so are empty files, unless strict or if all are. Fails
// when less than half of the rows are of known types. A unit other than seconds is refused for files that are
// no tables, with the option "time-unit". Files whose rows carry no seq_id, mc and mb_id get them from the
// recorded order (traces/op/ndtimeline_ids.h).
Result<OpTraceReading> read_op_trace(const std::vector<std::string>& paths,
                                     const OpTraceReadOptions& options);

// The last part of that, for rows that came from elsewhere: ids of rows that lack them or part of them.
// `has_absent_chunks`: TraceIntake's.
Status complete_ids(OpTraceReading& reading, const OpTraceReadOptions& options, bool has_absent_chunks);

}  // namespace goodput
