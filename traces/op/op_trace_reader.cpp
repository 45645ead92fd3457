#include "traces/op/op_trace_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <iterator>
#include <map>
#include <set>
#include <utility>

#include "sim/base/registry.h"
#include "sim/ops/op_trace.h"
#include "traces/io/byte_source.h"
#include "traces/io/formats.h"
#include "traces/op/absent_chunks.h"
#include "traces/op/ndtimeline_ids.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/trace_intake.h"

namespace goodput {
namespace {

// ---- Which ranks each of several files holds: files that have none in common are one a host.

// Without the extensions of a format and of a compression.
std::string stem_of(const std::filesystem::path& path) {
  std::filesystem::path name = path.filename();
  const bool is_compressed = name.extension() == ".gz" || name.extension() == ".zst";
  if (is_compressed) name = name.stem();
  return name.stem().string();
}

std::vector<std::string> distinct_names(const std::vector<std::string>& paths) {
  std::vector<std::string> stems;
  std::set<std::string> distinct;
  for (const std::string& path : paths) distinct.insert(stems.emplace_back(stem_of(path)));
  if (distinct.size() == stems.size()) return stems;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const std::string folder = std::filesystem::path(paths[i]).parent_path().filename().string();
    if (!folder.empty()) stems[i] = folder + "/" + stems[i];
  }
  return stems;
}

class FileRanks {
 public:
  explicit FileRanks(const std::vector<std::string>& paths) : paths_(paths) {}

  // The rows of the next of the paths end where `trace` now ends.
  void end_file(const OpTrace& trace) {
    std::set<std::int32_t>& ranks = ranks_.emplace_back();
    if (paths_.size() == 1) return;  // nothing to tell apart
    for (std::size_t i = rows_; i < trace.size(); ++i) {
      if (i == rows_ || trace.rank[i] != trace.rank[i - 1]) ranks.insert(trace.rank[i]);
    }
    rows_ = trace.size();
  }

  // The file by rank, named as far as names tell them apart: "node7" of "logs/node7.csv.gz", "node7/trace" of
  // "node7/trace.json". Empty when fewer than two files hold ranks, and when a rank
  // is in two.
  [[nodiscard]] std::map<std::int64_t, std::string> hosts() const {
    std::map<std::int64_t, std::string> hosts;
    if (std::ranges::count_if(ranks_, [](const auto& ranks) { return !ranks.empty(); }) < 2) return hosts;
    const std::vector<std::string> names = distinct_names(paths_);
    for (std::size_t file = 0; file < ranks_.size(); ++file) {
      for (const std::int32_t rank : ranks_[file]) {
        if (!hosts.emplace(rank, names[file]).second) return {};
      }
    }
    return hosts;
  }

 private:
  std::vector<std::string> paths_;
  std::vector<std::set<std::int32_t>> ranks_;  // a file
  std::size_t rows_ = 0;                       // of the files before
};

// ---- Reading.

// Formats other than tables have a unit of their own.
Status check_time_unit(const OpTraceFormat& format, const TraceIntake& intake, const std::string& path) {
  if (intake.seconds_per_unit() == 1 || format.name == "csv" || format.name == "parquet") return Ok{};
  return Error{
      fmt::format("has format {}, whose time unit is fixed; {} applies only to tables (csv, parquet)",
                  format.name, kOption),
      {.file = path},
      "time-unit"};
}

// False for a pipe, which has no size.
bool is_empty_file(const std::string& path) {
  std::error_code failed;
  return std::filesystem::is_regular_file(path, failed) && std::filesystem::file_size(path, failed) == 0;
}

// Adds the rows of one file, and its format and notes to `reading`. False: it is empty.
Result<bool> append_file(const std::string& path, const std::string& format_name,
                         const ByteSource::OnProgress& on_progress, TraceIntake& intake,
                         OpTraceReading& reading) {
  if (is_empty_file(path)) return false;
  GOODPUT_TRY(ByteSource source, ByteSource::open(path));
  source.report_progress(on_progress);
  if (!intake.is_strict()) source.accept_truncation();
  intake.begin_file(path);
  GOODPUT_TRY(const std::string_view head, source.peek());
  if (head.empty()) return false;
  GOODPUT_TRY(const OpTraceFormat format, format_of(op_trace_formats(), "op trace", format_name, source));
  GOODPUT_TRY_STATUS(check_time_unit(format, intake, path));
  const std::size_t rows_before = intake.trace().size();
  const std::size_t cut_before = intake.count_of(CleaningRule::kCutRecords);
  GOODPUT_TRY(FileNotes notes, format.append_file(source, intake));
  if (intake.trace().size() == rows_before) GOODPUT_TRY_STATUS(intake.check_known_share());
  const std::string truncation = source.truncation();
  if (!truncation.empty() && intake.count_of(CleaningRule::kCutRecords) == cut_before) {
    intake.count_at(CleaningRule::kCutRecords, {}, truncation);
  }
  reading.formats.emplace_back(format.name);
  std::move(notes.begin(), notes.end(), std::back_inserter(reading.notes));
  return true;
}

}  // namespace

Status complete_ids(OpTraceReading& reading, const OpTraceReadOptions& options, bool has_absent_chunks) {
  const int vpp_size = options.vpp_size.value_or(1);
  if (lacks_ids(reading.trace)) {
    const auto gaps = options.strict ? IdGaps::kRefused : IdGaps::kLeftToOthers;
    GOODPUT_TRY(DerivedIds derived, derive_ids(reading.trace, vpp_size, gaps));
    reading.notes.push_back(derived.note());
    reading.step_origin_s = std::move(derived.step_origin_s);
    reading.were_float32 = derived.were_float32;
    std::move(derived.findings.begin(), derived.findings.end(), std::back_inserter(reading.findings));
    std::ranges::stable_sort(reading.findings, {}, &CleaningFinding::rule);
    return Ok{};
  }
  if (lacks_chunks(reading.trace)) {
    GOODPUT_TRY(std::string note, recover_chunks(reading.trace, options.vpp_size));
    if (!note.empty()) reading.notes.push_back(std::move(note));
  }
  if (!has_absent_chunks) return Ok{};
  if (auto note = fill_absent_chunks(reading.trace, vpp_size); !note.empty())
    reading.notes.push_back(std::move(note));
  return Ok{};
}

Result<OpTraceReading> read_op_trace(const std::vector<std::string>& paths,
                                     const OpTraceReadOptions& options) {
  if (paths.empty()) return Error{"no trace file given"};
  if (!options.format.empty()) {
    GOODPUT_TRY([[maybe_unused]] const OpTraceFormat known,
                find_named(op_trace_formats(), "op trace format", options.format));
  }
  OpTraceReading reading;
  TraceIntake intake(options.strict ? TraceIntake::Mode::kStrict : TraceIntake::Mode::kClean,
                     options.seconds_per_unit);
  FileRanks ranks(paths);
  std::uint64_t read_before = 0;
  for (const std::string& path : paths) {
    const auto on_progress = [&](std::size_t bytes) {
      if (options.on_progress) options.on_progress(read_before + bytes);
    };
    GOODPUT_TRY(const bool holds_text, append_file(path, options.format, on_progress, intake, reading));
    if (!holds_text && paths.size() == 1) return Error{"is empty", {.file = path}};
    if (!holds_text && options.strict)
      return Error{
          fmt::format("is empty; omit the file, or read without {}", kOption), {.file = path}, "strict"};
    if (!holds_text) reading.notes.push_back(fmt::format("{} is empty and was skipped", path));
    ranks.end_file(intake.trace());
    std::error_code ignored;
    const std::uintmax_t size = std::filesystem::file_size(path, ignored);
    if (!ignored) read_before += size;
  }
  if (reading.formats.empty())
    return Error{"is empty, and so are the other files; give the files with the ops",
                 {.file = paths.front()}};
  if (auto known = intake.check_known_share(); !known) return std::move(known).error().in_file(paths.front());
  reading.findings = intake.findings();
  reading.hosts = intake.hosts().empty() ? ranks.hosts() : intake.hosts();
  reading.stated_dp_size = intake.stated_sizes().dp_size;
  reading.stated_pp_size = intake.stated_sizes().pp_size;
  const bool has_absent_chunks = intake.has_absent_chunks();
  reading.trace = std::move(intake).take_trace();
  if (reading.trace.size() == 0) return Error{"has no ops", {.file = paths.front()}};
  Status complete = complete_ids(reading, options, has_absent_chunks);
  if (!complete) return std::move(complete).error().in_file(paths.front());
  return reading;
}

}  // namespace goodput
