#include "tools/monitor_export/monitor_export.h"

#include <fmt/format.h>

#include <optional>
#include <utility>
#include <vector>

#include "sim/base/json.h"
#include "sim/ops/op_trace.h"
#include "tools/cli/json_result.h"
#include "tools/cli/output_file.h"
#include "tools/monitor_export/export_json.h"
#include "tools/monitor_export/export_steps.h"
#include "tools/monitor_export/export_tables.h"
#include "tools/monitor_store/monitor_store.h"
#include "tools/trace/write_trace.h"
#include "traces/io/formats.h"
#include "traces/op/op_trace_format.h"

namespace goodput {
namespace {

std::string describe(const ExportedJob& job) {
  if (job.steps.empty()) return fmt::format("{}: no steps\n", job.info.name);
  const StepId first = job.steps.front().id;
  const StepId last = job.steps.back().id;
  return fmt::format("{}: {} step{} from {} of run {} to {} of run {}\n", job.info.name, job.steps.size(),
                     job.steps.size() == 1 ? "" : "s", first.step, first.run, last.step, last.run);
}

Status write_tables(MonitorStore& store, const std::vector<ExportedJob>& jobs,
                    const MonitorExportOptions& options, const CommandContext& context) {
  if (!options.table.empty()) {
    GOODPUT_TRY(const std::size_t rows, write_step_table(jobs, options.table));
    context.print(fmt::format("{}: {} steps\n", options.table, rows));
  }
  if (!options.workers.empty()) {
    GOODPUT_TRY(const std::size_t rows, write_worker_table(store, jobs, options.workers));
    context.print(fmt::format("{}: {} workers in steps whose maps are kept\n", options.workers, rows));
  }
  return Ok{};
}

// Before anything is read.
Status check_outputs(const MonitorExportOptions& options, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_table_path(options.table, "table"));
  GOODPUT_TRY_STATUS(check_table_path(options.workers, "workers"));
  return check_file_roles(
      {options.database},
      {{"--table", options.table}, {"--workers", options.workers}, {"--trace", options.trace}}, context);
}

}  // namespace

void add_export_options(Options& options, MonitorExportOptions& bound) {
  options.add("db", bound.database, "DB", "The database of a monitor, running or not").input().required();
  options.add("--job", bound.job, "NAME", "Only this job (default: all)");
  options.add("--steps", bound.steps, "LIST", "Only these steps, for example 12,20-23");
  options.add("--run", bound.run, "N", "Only this run of the job, from 0");
  options.add("--from", bound.from, "TIME",
              "Only steps from this time on: seconds since 1970, or UTC as 2026-11-24T13:30:00Z");
  options.add("--to", bound.to, "TIME", "Only steps up to this time");
  options.add("--table", bound.table, "FILE", "Write a row a step, as .csv or .parquet").output();
  options
      .add("--workers", bound.workers, "FILE",
           "Write a row a step and worker, as .csv or .parquet, of steps whose maps are kept")
      .output();
  options.add("--trace", bound.trace, "FILE", "Write the rows of ops that are kept as a trace, for whatif")
      .output();
}

Result<ExitCode> run_export(const MonitorExportOptions& options, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_outputs(options, context));
  std::optional<OpTraceFormat> format;
  if (!options.trace.empty()) {
    GOODPUT_TRY(format, format_of_extension(op_trace_formats(), options.trace));
  }
  GOODPUT_TRY(MonitorStore store, MonitorStore::open_for_reading(options.database));
  GOODPUT_TRY(const std::vector<ExportedJob> jobs, exported_jobs(store, options));
  for (const ExportedJob& job : jobs) context.print(describe(job));
  GOODPUT_TRY_STATUS(write_tables(store, jobs, options, context));
  if (format) {
    GOODPUT_TRY(const OpTrace rows, exported_rows(store, jobs, options.database));
    GOODPUT_TRY_STATUS(write_trace(rows, *format, options.trace));
    context.print(fmt::format("{}: {} ops as {}\n", options.trace, rows.size(), format->name));
  }
  if (!context.options.wants_result()) return ExitCode::kOk;
  OrderedJson result = begin_json_result("monitor_export", context,
                                         {.config_hash = {}, .calibration = {}, .lowest_tier = "measured"});
  GOODPUT_TRY(result["jobs"], exported_json(store, jobs));
  GOODPUT_TRY_STATUS(write_json_result(result, context));
  return ExitCode::kOk;
}

}  // namespace goodput
