#include "tools/trace/read_trace.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <utility>

#include "models/analysis/arrange_passes.h"
#include "sim/base/registry.h"
#include "sim/cleaning/step_selection.h"
#include "tools/cli/progress_bar.h"
#include "tools/trace/read_kineto.h"
#include "traces/follow/job_folder.h"
#include "traces/op/job_metadata_file.h"
#include "traces/op/op_trace_reader.h"

namespace goodput {
namespace {

struct TimeUnit {
  std::string_view name;
  double seconds;
};
constexpr std::array kTimeUnits = {TimeUnit{"s", 1}, TimeUnit{"ms", 1e-3}, TimeUnit{"us", 1e-6},
                                   TimeUnit{"ns", 1e-9}};

// `a`, `a and b`, `a, b and 9 more`
std::string listed(std::vector<std::string> paths) {
  constexpr std::size_t kMost = 3;
  const std::string last =
      paths.size() > kMost ? fmt::format("{} more", paths.size() - kMost + 1) : paths.back();
  paths.resize(std::min(paths.size(), kMost) - 1);
  return paths.empty() ? last : fmt::format("{} and {}", fmt::join(paths, ", "), last);
}

// Errors of the trace as a whole name its files.
Error in_files(const std::vector<std::string>& paths, Error error) {
  const std::string others = paths.size() > 1 ? fmt::format(" and {} more", paths.size() - 1) : "";
  return std::move(error).in_file(paths.front() + others);
}

// Takes the metadata that folders have, which must be that of all files.
Status take_metadata(const std::vector<std::string>& found, TraceFiles& files) {
  if (found.empty() || !files.metadata_path.empty()) return Ok{};
  const std::string folder = found.front().substr(0, found.front().rfind('/') + 1);
  const auto outside =
      std::ranges::find_if(files.paths, [&](const std::string& path) { return !path.starts_with(folder); });
  if (found.size() == 1 && outside == files.paths.end()) {
    files.metadata_path = found.front();
    return Ok{};
  }
  return Error{
      fmt::format("contains several jobs: {}; name the folder of one job, or give --meta FILE if all files "
                  "belong to one job",
                  found.size() > 1 ? "found " + listed(found)
                                   : fmt::format("{} is outside the folder of {}", *outside, found.front()))};
}

}  // namespace

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

Result<std::vector<NumberRange>> parse_steps(const std::string& list) {
  if (list.empty()) return std::vector<NumberRange>{};
  Result<std::vector<NumberRange>> parsed = parse_number_ranges(list);
  if (!parsed) return std::move(parsed).error().of_option("steps");
  return parsed;
}

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
  options.add_flag("--strict", files.strict, "Reject a trace if rows would be dropped or steps left out");
  options
      .add("--time-unit", files.time_unit, "UNIT",
           "Unit of times in CSV and Parquet: s, ms, us or ns (default s)")
      .one_of(time_unit_names());
}

void add_kineto_options(Options& options, TraceFiles& files) {
  options.add_flag("--one-group", files.one_group,
                   "For torch.profiler: treat collectives that name no process group as collectives of all "
                   "ranks (PyTorch before 2.3)");
}

std::vector<std::string> input_files(const TraceFiles& files) {
  std::vector<std::string> all = files.paths;
  if (!files.metadata_path.empty()) all.push_back(files.metadata_path);
  return all;
}

Status expand_folders(TraceFiles& files) {
  const std::vector<std::string> named = std::exchange(files.paths, {});
  files.job_name = job_name(named);
  files.named = named.front();
  std::vector<std::string> metadata;
  std::vector<std::string> others;
  for (const std::string& path : named) {
    std::error_code failed;
    if (!std::filesystem::is_directory(path, failed)) {
      files.paths.push_back(path);
      continue;
    }
    GOODPUT_TRY(JobFolder folder, find_job_files(path, !files.format.empty()));
    if (folder.traces.empty()) {
      if (!folder.warnings.empty()) return Error{folder.warnings.front()};
      return Error{
          "contains no op trace; name a folder with the logs or tables of a job (see `goodput list formats`)",
          {.file = path}};
    }
    std::ranges::move(folder.traces, std::back_inserter(files.paths));
    std::ranges::move(folder.metadata, std::back_inserter(metadata));
    std::ranges::move(folder.others, std::back_inserter(others));
    std::ranges::move(folder.warnings, std::back_inserter(files.notes));
  }
  if (!others.empty()) {
    const bool is_one = others.size() == 1;
    files.notes.push_back(fmt::format("{} {} and {} skipped", listed(others),
                                      is_one ? "is not an op trace" : "are not op traces",
                                      is_one ? "was" : "were"));
  }
  const Status taken = take_metadata(metadata, files);
  return taken ? taken : in_files(named, taken.error());
}

Result<JobRows> read_trace(const TraceFiles& files, const CommandContext& context) {
  JobRows result;
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
  result.reading.notes.insert(result.reading.notes.begin(), files.notes.begin(), files.notes.end());
  return result;
}

Result<ArrangedJob> load_job(const LoadOptions& options, const CommandContext& context) {
  if (mean_kineto(options.files)) return load_kineto_job(options, context);
  if (options.files.one_group)
    return Error{"applies only to torch.profiler traces; leave it out", {}, "one-group"};
  GOODPUT_TRY(JobRows rows, read_trace(options.files, context));
  ArrangeOptions arranging{options.files.strict, {}, options.clocks, options.files.job_name};
  if (arranging.trial_name.empty()) arranging.trial_name = job_name(options.files.paths);
  GOODPUT_TRY(arranging.steps, parse_steps(options.steps));
  GOODPUT_TRY_STATUS(check_asked_for(rows.reading.trace, rows.reading.findings, arranging.steps));
  std::vector<std::string> notes;
  Result<ArrangedJob> job = arrange_passes(std::move(rows), arranging, notes);
  for (const std::string& note : notes) context.note(note);
  if (!job) return in_files(options.files.paths, std::move(job).error());
  job->file = options.files.paths.front();
  return job;
}

}  // namespace goodput
