// Spot traces named on a command line: `goodput trace info` and `goodput trace convert` for them.
#pragma once

#include <cstdint>
#include <string>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"
#include "tools/trace/read_trace.h"
#include "traces/spot/spot_format.h"

namespace goodput {

// What the options say; empty: not given.
struct SpotWords {
  std::string polarity;    // --polarity
  std::string meaning;     // --meaning
  std::int64_t nodes = 0;  // --nodes; 0: not given
};

void add_spot_options(Options& options, SpotWords& words);

// One of kSpotPolarityNames and kSpotMeaningNames each, or an error that names them.
Result<SpotOptions> spot_options(const SpotWords& words);

// Whether `files` are meant as a spot trace: by an option for spot traces, by the name of the format, by the
// content of the first file. A file that cannot be read is none: the reader of op traces says why.
[[nodiscard]] bool mean_spot_trace(const TraceFiles& files, const SpotWords& words);

Result<ExitCode> run_spot_info(const TraceFiles& files, const SpotWords& words,
                               const CommandContext& context);

// `to`: --to; empty: events_csv where nodes have names, else counts_csv.
Result<ExitCode> run_spot_convert(const TraceFiles& files, const SpotWords& words, const std::string& to,
                                  const std::string& output, const CommandContext& context);

}  // namespace goodput
