// `goodput monitor export`: what a monitor stored, for programs: JSON, tables, and kept rows as a trace.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "sim/base/errors.h"
#include "tools/cli/command.h"
#include "tools/cli/options.h"

namespace goodput {

// As it is asked for on the command line. An empty path: not that file.
struct MonitorExportOptions {
  std::string database;
  std::string job;    // empty: all jobs
  std::string steps;  // 12,20-23; empty: all
  std::optional<std::int64_t> run;
  std::string from;  // times; empty: no bound
  std::string to;
  std::string table;    // a row a step
  std::string workers;  // a row a step and worker
  std::string trace;    // rows of ops
};

// Binds `bound`, which must outlive the parsing, to the options of a (sub-)command.
void add_export_options(Options& options, MonitorExportOptions& bound);

Result<ExitCode> run_export(const MonitorExportOptions& options, const CommandContext& context);

}  // namespace goodput
