// `goodput import failures FILE...`: failure logs to a failure preset.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace goodput {

struct ImportFailuresOptions {
  std::vector<std::string> files;
  std::string out;
  std::optional<std::int64_t> nodes;
  std::string from, to;
  bool counts_failed = false;        // --count-failed
  std::string burst_window;          // a duration; empty: not given
  std::string repair_time;           // likewise
  std::vector<std::string> columns;  // ROLE=NAME
  std::vector<std::string> ignored_causes;
};

void add_import_failures_options(Options& failures, ImportFailuresOptions& options);

Result<ExitCode> run_import_failures(const ImportFailuresOptions& options, const CommandContext& context);

}  // namespace goodput
