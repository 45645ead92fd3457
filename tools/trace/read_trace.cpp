#include "tools/trace/read_trace.h"

#include <filesystem>
#include <utility>

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

}  // namespace

std::vector<std::string> input_files(const TraceFiles& files) {
  std::vector<std::string> all = files.paths;
  if (!files.metadata_path.empty()) all.push_back(files.metadata_path);
  return all;
}

Result<TraceWithMetadata> read_trace(const TraceFiles& files, const CommandContext& context) {
  TraceWithMetadata result;
  if (!files.metadata_path.empty()) {
    GOODPUT_TRY(result.metadata, read_job_metadata(files.metadata_path));
  }
  OpTraceReadOptions options;
  options.format = files.format;
  if (result.metadata.vpp_size) options.vpp_size = static_cast<int>(*result.metadata.vpp_size);
  const bool shows = context.terminal.shows_progress && !context.options.quiet;
  ProgressBar bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever, "reading",
                  total_size(files.paths));
  options.on_progress = [&](std::uint64_t bytes) { bar.update(bytes); };
  GOODPUT_TRY(result.reading, read_op_trace(files.paths, options));
  return result;
}

}  // namespace goodput
