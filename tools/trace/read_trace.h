// Trace files named on a command line, read with their metadata: shared by all commands that take traces.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "models/analysis/arranged_job.h"
#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/clocks/align_clocks.h"
#include "sim/ops/job_rows.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace goodput {

struct TraceFiles {
  std::vector<std::string> paths;
  std::string format;         // a name of op_trace_formats(); empty: from each file's content
  std::string metadata_path;  // job metadata; empty: none
  bool strict = false;        // refuse what would be dropped or left out
  std::string time_unit;      // of tables: s, ms, us or ns; empty: s

  bool one_group = false;  // torch.profiler: collectives without a group are of one group of all ranks

  // Of expand_folders().
  std::string named{};               // the folder or the first of the files, as given
  std::string job_name{};            // empty: after `paths`
  std::vector<std::string> notes{};  // about what is not read
};

// Replaces folders among the paths by the op traces in them (traces/follow/job_folder.h), takes their
// metadata unless some was given, and names the job. Fails for a folder without op traces and for several
// jobs.
Status expand_folders(TraceFiles& files);

// The options that say how production traces are cleaned.
void add_cleaning_options(Options& options, TraceFiles& files);

// The option for torch.profiler traces without process groups.
void add_kineto_options(Options& options, TraceFiles& files);

// Of all files; 0 when any size is unknown, as of a pipe.
[[nodiscard]] std::uint64_t total_size(const std::vector<std::string>& paths);

// A list such as 12,20-23; empty: all. Errors are of the option "steps".
[[nodiscard]] Result<std::vector<NumberRange>> parse_steps(const std::string& list);

// Units of times in tables: s, ms, us, ns. Option: "time-unit".
[[nodiscard]] std::vector<std::string_view> time_unit_names();
[[nodiscard]] Result<double> seconds_of_time_unit(const std::string& name);  // empty: seconds

// All of them, after expand_folders(): what no output may overwrite.
[[nodiscard]] std::vector<std::string> input_files(const TraceFiles& files);

// With a progress bar on a terminal when it takes long. Notes are in the result, not printed.
Result<JobRows> read_trace(const TraceFiles& files, const CommandContext& context);

struct LoadOptions {
  TraceFiles files;
  std::string steps;  // list such as 12,20-23; empty: all
  ClockAlignment clocks = ClockAlignment::kAuto;
};

// Reads and arranges (models/analysis/arrange_passes.h). Prints the notes, also if it fails.
Result<ArrangedJob> load_job(const LoadOptions& options, const CommandContext& context);

}  // namespace goodput
