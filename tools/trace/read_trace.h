// Trace files named on a command line, read with their metadata: shared by all commands that take traces.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "traces/op/job_metadata.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {

struct TraceFiles {
  std::vector<std::string> paths;
  std::string format;         // a name of op_trace_formats(); empty: from each file's content
  std::string metadata_path;  // job metadata; empty: none
  bool strict = false;        // refuse what would be dropped or left out
  std::string time_unit;      // of tables: s, ms, us or ns; empty: s
};

// The options that say how production traces are cleaned.
void add_cleaning_options(Options& options, TraceFiles& files);

// Units of times in tables: s, ms, us, ns. Option: "time-unit".
[[nodiscard]] std::vector<std::string_view> time_unit_names();
[[nodiscard]] Result<double> seconds_of_time_unit(const std::string& name);  // empty: seconds

// All of them: what no output may overwrite.
[[nodiscard]] std::vector<std::string> input_files(const TraceFiles& files);

struct TraceWithMetadata {
  OpTraceReading reading;
  JobMetadataFields metadata;
  std::string metadata_path;  // empty: there is none
};

// With a progress bar on a terminal when it takes long. Notes are in the result, not printed.
Result<TraceWithMetadata> read_trace(const TraceFiles& files, const CommandContext& context);

}  // namespace goodput
