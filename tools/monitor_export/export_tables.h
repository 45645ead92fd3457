// Steps and their workers as tables, and kept rows as a trace.
#pragma once

#include <span>
#include <string>

#include "sim/base/errors.h"
#include "sim/ops/op_trace.h"
#include "tools/monitor_export/export_steps.h"
#include "tools/monitor_store/monitor_store.h"

namespace goodput {

// Whether tables can be written to files of this name: .csv, and where built with it .parquet.
Status check_table_path(const std::string& path, const char* option);

// A row a step; how many.
Result<std::size_t> write_step_table(std::span<const ExportedJob> jobs, const std::string& path);

// A row a step and worker, of steps whose map is kept; how many.
Result<std::size_t> write_worker_table(MonitorStore& store, std::span<const ExportedJob> jobs,
                                       const std::string& path);

// The rows of all steps of the one job that has any, one step after the other.
Result<OpTrace> exported_rows(MonitorStore& store, std::span<const ExportedJob> jobs,
                              const std::string& database);

}  // namespace goodput
