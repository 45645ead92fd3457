#include "tools/trace/read_kineto.h"

#include <fmt/format.h>

#include <atomic>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "models/collectives/arrange_collectives.h"
#include "sim/base/parallel.h"
#include "tools/cli/progress_bar.h"
#include "traces/io/byte_source.h"
#include "traces/kineto/kineto_activity.h"
#include "traces/kineto/kineto_events.h"
#include "traces/kineto/kineto_format.h"
#include "traces/op/job_metadata_file.h"

namespace goodput {
namespace {

// Empty for a file that cannot be read twice or has no content.
std::optional<bool> begins_as_kineto(const std::string& path) {
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed) || std::filesystem::file_size(path, failed) == 0)
    return std::nullopt;
  Result<ByteSource> source = ByteSource::open(path);
  if (!source) return std::nullopt;
  source->accept_truncation();
  const Result<std::string_view> head = source->peek();
  if (!head || head->empty()) return std::nullopt;
  return is_kineto(*head);
}

Result<RankActivity> read_activity(const std::string& path, const KinetoOptions& options,
                                   const ByteSource::OnProgress& on_progress) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  source.accept_truncation();
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (!is_kineto(head))
    return Error{"is not a torch.profiler trace, unlike other given files; pass only torch.profiler traces",
                 {.file = path}};
  source.report_progress(on_progress);
  GOODPUT_TRY(KinetoEvents events, read_kineto_events(source));
  return rank_activity(std::move(events), options);
}

Status check_options(const TraceFiles& files) {
  if (files.time_unit.empty()) return Ok{};
  return Error{
      fmt::format("is a torch.profiler trace, whose times are always microseconds; leave out {}", kOption),
      {.file = files.paths.front()},
      "time-unit"};
}

}  // namespace

bool mean_kineto(const TraceFiles& files) {
  if (!files.format.empty()) return files.format == kKinetoFormat;
  for (const std::string& path : files.paths) {
    if (const std::optional<bool> is_one = begins_as_kineto(path)) return *is_one;
  }
  return false;
}

Result<std::vector<RankActivity>> read_activities(const TraceFiles& files, const CommandContext& context) {
  GOODPUT_TRY_STATUS(check_options(files));
  const KinetoOptions options{files.one_group};
  const bool shows = context.terminal.shows_progress && !context.options.quiet;
  ProgressBar bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever, "reading",
                  total_size(files.paths));
  std::vector<std::optional<Result<RankActivity>>> read(files.paths.size());
  std::atomic<std::uint64_t> done = 0;
  parallel_pieces(static_cast<unsigned>(context.options.jobs), files.paths.size(), 1,
                  [&](std::size_t begin, std::size_t end) {
                    for (std::size_t i = begin; i < end; ++i) {
                      const auto count = [&, before = std::size_t{0}](std::size_t bytes) mutable {
                        done += bytes - std::exchange(before, bytes);
                        if (i == 0) bar.update(done);  // by one thread only: the bar is not thread-safe
                      };
                      read[i].emplace(read_activity(files.paths[i], options, count));
                    }
                  });
  std::vector<RankActivity> activities;
  for (std::optional<Result<RankActivity>>& one : read) {
    if (!*one) return std::move(*one).error();
    activities.push_back(std::move(**one));
  }
  return activities;
}

Result<ArrangedJob> load_kineto_job(const LoadOptions& options, const CommandContext& context) {
  CollectiveOptions arranging{options.files.strict, {}, options.clocks, options.files.job_name, {}};
  if (arranging.trial_name.empty()) arranging.trial_name = job_name(options.files.paths);
  GOODPUT_TRY(arranging.steps, parse_steps(options.steps));
  if (!options.files.metadata_path.empty()) {
    GOODPUT_TRY(arranging.metadata, read_job_metadata(options.files.metadata_path));
  }
  GOODPUT_TRY(std::vector<RankActivity> activities, read_activities(options.files, context));
  std::vector<std::string> notes = options.files.notes;
  Result<ArrangedJob> job = arrange_collectives(std::move(activities), arranging, notes);
  for (const std::string& note : notes) context.note(note);
  if (!job) return std::move(job).error().in_file(options.files.named);
  job->file = options.files.paths.front();
  return job;
}

}  // namespace goodput
