#include "tools/fleet/fleet_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <map>
#include <optional>
#include <string_view>
#include <system_error>
#include <utility>

#include "sim/base/parallel.h"
#include "tools/cli/live_progress.h"
#include "tools/fleet/fleet_about.h"
#include "tools/fleet/monitor_jobs.h"
#include "tools/fleet/whatif_result.h"
#include "tools/monitor_store/monitor_store.h"
#include "traces/io/byte_source.h"

namespace goodput {
namespace {

namespace fs = std::filesystem;

constexpr std::array<std::string_view, 4> kFleetExtensions = {".json", ".json.gz", ".sqlite", ".db"};
constexpr std::string_view kSqliteHead = "SQLite format 3";
constexpr std::size_t kLargestResultBytes = std::size_t{256} << 20;

Result<std::vector<std::string>> files_in(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code failed;
  for (fs::directory_iterator entry(folder, failed), end; !failed && entry != end; entry.increment(failed)) {
    const std::string name = entry->path().filename().string();
    const auto has_end = [&](std::string_view end_of_name) { return name.ends_with(end_of_name); };
    if (name.starts_with('.') || std::none_of(kFleetExtensions.begin(), kFleetExtensions.end(), has_end))
      continue;
    if (fs::is_regular_file(entry->path(), failed)) files.push_back(entry->path().string());
  }
  if (failed) return Error{fmt::format("cannot be read: {}", failed.message()), {.file = folder}};
  std::sort(files.begin(), files.end());
  if (!files.empty()) return files;
  return Error{
      "contains no .json, .json.gz, .sqlite or .db file; give results of `goodput whatif --json` or monitor "
      "databases",
      {.file = folder}};
}

// What one file holds: a job, or those of a database.
struct FileContent {
  std::vector<FleetJob> jobs;
  std::vector<std::string> notes;
  bool is_database = false;
};

Result<std::string> rest_of(ByteSource& source) {
  constexpr std::size_t kPiece = std::size_t{1} << 16;
  std::string text;
  for (;;) {
    const std::size_t before = text.size();
    text.resize(before + kPiece);
    GOODPUT_TRY(const std::size_t got, source.read({text.data() + before, kPiece}));
    text.resize(before + got);
    if (text.size() > kLargestResultBytes)
      return Error{
          fmt::format("is larger than {} MiB, so it cannot be a whatif result", kLargestResultBytes >> 20),
          {.file = source.path()}};
    if (got < kPiece) return text;
  }
}

Result<FileContent> read_fleet_file(const std::string& file) {
  GOODPUT_TRY(ByteSource source, ByteSource::open(file));
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (head.starts_with(kSqliteHead)) {
    GOODPUT_TRY(MonitorStore store, MonitorStore::open_for_reading(file));
    GOODPUT_TRY(MonitorJobs read, read_monitor_jobs(store, file));
    return FileContent{std::move(read.jobs), std::move(read.notes), true};
  }
  GOODPUT_TRY(std::string text, rest_of(source));
  GOODPUT_TRY(FleetJob job, read_whatif_result(std::move(text), file));
  FileContent content;
  content.jobs.push_back(std::move(job));
  return content;
}

std::vector<std::optional<Result<FileContent>>> read_files(const std::vector<std::string>& files,
                                                           const CommandContext& context) {
  std::vector<std::optional<Result<FileContent>>> contents(files.size());
  std::atomic<std::uint64_t> done = 0;
  const bool shows = context.terminal.shows_progress && !context.options.quiet;
  LiveProgress bar(context.err, shows ? ProgressBar::Show::kWhenSlow : ProgressBar::Show::kNever,
                   "reading jobs", files.size());
  parallel_pieces(static_cast<unsigned>(context.options.jobs), files.size(), 1,
                  [&](std::size_t begin, std::size_t /*end*/) {
                    contents[begin].emplace(read_fleet_file(files[begin]));
                    bar.update(++done);
                  });
  return contents;
}

// Leaves out what is there already; says so of the first, and how many there are.
void drop_repeated(FleetReading& reading) {
  std::map<std::uint64_t, std::string> source_of;
  std::size_t repeated = 0;
  std::string first;
  std::erase_if(reading.jobs, [&](const FleetJob& job) {
    if (job.rows == 0) return false;
    const auto [same, is_new] = source_of.emplace(job.rows, job.source);
    if (is_new) return false;
    if (repeated++ == 0) first = fmt::format("{} is the same job as {}", job.source, same->second);
    return true;
  });
  if (repeated > 0) {
    reading.notes.push_back(
        fmt::format("{}: counted once{}", first,
                    repeated > 1 ? fmt::format(" ({} more duplicates were skipped)", repeated - 1) : ""));
  }
}

void note_shared_names(FleetReading& reading) {
  std::map<std::string, std::size_t> jobs_named;
  for (const FleetJob& job : reading.jobs) ++jobs_named[job.name];
  std::size_t names = 0;
  std::size_t jobs = 0;
  std::string first;
  for (const auto& [name, count] : jobs_named) {
    if (count == 1) continue;
    if (names++ == 0) first = name;
    jobs += count;
  }
  if (names > 0) {
    reading.notes.push_back(
        fmt::format("{} jobs share {} name{} ({}{}) but have different rows: each is counted separately",
                    jobs, names, names > 1 ? "s" : "", first, names > 1 ? ", ..." : ""));
  }
}

// Hours of runs hold pauses and steps that nobody analysed; those of results do not.
void note_mixed_hours(FleetReading& reading) {
  const auto with = [&](HoursOf kind) {
    return std::count_if(reading.jobs.begin(), reading.jobs.end(),
                         [kind](const FleetJob& job) { return job.gpu_hours && job.hours_of == kind; });
  };
  const auto of_steps = with(HoursOf::kSteps);
  const auto of_runs = with(HoursOf::kRun);
  if (of_steps == 0 || of_runs == 0) return;
  reading.notes.push_back(
      fmt::format("the GPU-hours of some jobs ({}) cover only their analyzed steps, but those of other jobs "
                  "({}) cover the whole time from the first step to the last; add a column gpu_hours to the "
                  "--job-info table to make them comparable",
                  of_steps, of_runs));
}

}  // namespace

Result<std::vector<std::string>> fleet_files(const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    std::error_code failed;
    if (!fs::is_directory(path, failed)) {
      files.push_back(path);
      continue;
    }
    GOODPUT_TRY(const std::vector<std::string> in_folder, files_in(path));
    files.insert(files.end(), in_folder.begin(), in_folder.end());
  }
  return files;
}

Result<FleetReading> read_fleet(const FleetInputs& inputs, const CommandContext& context) {
  GOODPUT_TRY(const std::vector<std::string> files, fleet_files(inputs.paths));
  FleetReading reading;
  for (std::optional<Result<FileContent>>& content : read_files(files, context)) {
    if (!*content) return std::move(*content).error();
    ++((*content)->is_database ? reading.databases : reading.results);
    for (FleetJob& job : (*content)->jobs) reading.jobs.push_back(std::move(job));
    for (std::string& note : (*content)->notes) reading.notes.push_back(std::move(note));
  }
  drop_repeated(reading);
  note_shared_names(reading);
  if (!inputs.about.empty()) {
    GOODPUT_TRY(const std::vector<std::string> notes, tell_about_jobs(inputs.about, reading.jobs));
    reading.notes.insert(reading.notes.end(), notes.begin(), notes.end());
  }
  note_mixed_hours(reading);
  return reading;
}

}  // namespace goodput
