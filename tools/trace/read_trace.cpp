#include "tools/trace/read_trace.h"

#include <array>
#include <filesystem>
#include <string_view>
#include <utility>

#include "sim/base/registry.h"
#include "tools/cli/progress_bar.h"

namespace goodput {
namespace {

// 0 when any size is unknown, as of a pipe.
std::uint64_t total_size(const std::vector<std::string>& paths) {
  std::uint64_t total = 0;
  for (const std::string& path : paths) {
    std::error_code failed;
    const std::uintmax_t size = std::filesystem::file_size(path, failed);
    if (failed) return 0;
    total += size;
  }
  return total;
}

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array kTimeUnits = {TimeUnit{"s", 1}, TimeUnit{"ms", 1e-3}, TimeUnit{"us", 1e-6},
                                   TimeUnit{"ns", 1e-9}};

}  // namespace

std::vector<std::string_view> time_unit_names() {
  return names_of(kTimeUnits);
}

Result<double> seconds_of_time_unit(const std::string& name) {
  if (name.empty()) return 1.0;
  const std::vector<std::string_view> names = time_unit_names();
  const Result<std::size_t> found = index_of_name(names, "time unit", name);
  if (!found) return found.error().of_option("time-unit");
  return kTimeUnits[*found].seconds;
}

void add_cleaning_options(Options& options, TraceFiles& files) {
  options.add_flag("--strict", files.strict,
                   "Refuse a trace of which rows would be dropped or steps left out");
  options
      .add("--time-unit", files.time_unit, "UNIT",
           "Unit of times in CSV and Parquet: s, ms, us or ns (default s)")
      .one_of(time_unit_names());
}

std::vector<std::string> input_files(const TraceFiles& files) {
  std::vector<std::string> all = files.paths;
  if (!files.metadata_path.empty()) all.push_back(files.metadata_path);
  return all;
}

Result<TraceWithMetadata> read_trace(const TraceFiles& files, const CommandContext& context) {
  TraceWithMetadata result;
  if (!files.metadata_path.empty()) {
    GOODPUT_TRY(result.metadata, read_job_metadata(files.metadata_path));
    result.metadata_path = files.metadata_path;
  }
  OpTraceReadOptions options;
  GOODPUT_TRY(options.seconds_per_unit, seconds_of_time_unit(files.time_unit));
  options.format = files.format;
  options.strict = files.strict;
  if (result.metadata.vpp_size) options.vpp_size = static_cast<int>(*result.metadata.vpp_size);
  const bool shows = context.terminal.shows_progress && !context.options.quiet;
  ProgressBar bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever, "reading",
                  total_size(files.paths));
  options.on_progress = [&](std::uint64_t bytes) { bar.update(bytes); };
  GOODPUT_TRY(result.reading, read_op_trace(files.paths, options));
  return result;
}

}  // namespace goodput
