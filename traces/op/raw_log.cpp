#include "traces/op/raw_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/append.h"
#include "sim/base/text.h"
#include "traces/io/byte_sink.h"
#include "traces/op/ndtimeline_names.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/raw_log_line.h"

namespace goodput {
namespace {

constexpr std::size_t kReadBytes = std::size_t{1} << 20;
constexpr std::size_t kLongestLine = std::size_t{16} << 20;
constexpr std::string_view kBlanks = " \t";

// The lines of a file without their ends, one after the other.
class LineReader {
 public:
  explicit LineReader(ByteSource& source) : source_(source) {}

  // The next line, valid until the next call; nothing at the end of the file.
  Result<std::optional<std::string_view>> next() {
    std::size_t newline = 0;
    std::size_t searched = begin_;
    while ((newline = buffer_.find('\n', searched)) == std::string::npos) {
      searched = buffer_.size() - begin_;
      GOODPUT_TRY(const bool more, read_more());
      if (!more) break;
      if (buffer_.size() > kLongestLine + kReadBytes) {
        return Error{fmt::format("the line is longer than {} MiB", kLongestLine >> 20),
                     {.file = source_.path(), .position = Position::line(number_ + 1)}};
      }
    }
    if (newline == std::string::npos && begin_ == buffer_.size()) return std::optional<std::string_view>();
    ++number_;
    std::string_view line = std::string_view(buffer_).substr(begin_, newline - begin_);
    begin_ = newline == std::string::npos ? buffer_.size() : newline + 1;
    if (line.ends_with('\r')) line.remove_suffix(1);
    return std::optional(line);
  }

  // Of the line that next() returned last, from 1.
  [[nodiscard]] std::size_t number() const { return number_; }

 private:
  // Moves the unfinished line to the front and reads behind it. False at the end of the file.
  Result<bool> read_more() {
    buffer_.erase(0, begin_);
    begin_ = 0;
    const std::size_t kept = buffer_.size();
    buffer_.resize(kept + kReadBytes);
    GOODPUT_TRY(const std::size_t count, source_.read(std::span(buffer_).subspan(kept)));
    buffer_.resize(kept + count);
    return count > 0;
  }

  ByteSource& source_;
  std::string buffer_;
  std::size_t begin_ = 0;  // of the next line
  std::size_t number_ = 0;
};

std::optional<std::string> append_ops(const RawLogRecord& record, OpType type, const Position& at,
                                      TraceIntake& intake, RawLogReading& reading) {
  for (std::size_t i = 0; i < record.durations_s.size(); ++i) {
    if (record.steps[i] < 0 && !record.keeps_negative_steps) {
      ++reading.before_training;
      continue;
    }
    OpRow row;
    row.dp_rank = record.dp_rank;
    row.stage = record.stage;
    row.rank = record.rank;
    row.step = record.steps[i];
    row.optype = type;
    row.start_s = record.starts_s[i];
    row.duration_s = record.durations_s[i];
    row.seq_id = kUnset;
    if (const auto problem = intake.append(row, at)) {
      return fmt::format("op {} of {}: {}", i + 1, in_quotes(record.metric), *problem);
    }
    ++reading.ops;
  }
  intake.note_host(record.rank, record.host);
  intake.note_sizes(record.sizes);
  return std::nullopt;
}

// What is wrong with the record, if anything.
std::optional<std::string> append_record(std::string_view text, const Position& at, TraceIntake& intake,
                                         RawLogReading& reading) {
  if (is_ignored_metric(metric_of_record(text))) {
    ++reading.ignored_metrics;
    return std::nullopt;
  }
  const auto record = parse_raw_log_record(text);
  if (!record) return record.error().what;
  const auto type = find_metric(record->metric);
  if (type) return append_ops(*record, *type, at, intake, reading);
  if (intake.is_strict()) return unknown_metric(record->metric);
  for (const std::int64_t step : record->steps) {
    const bool is_of_trace = step >= 0 || record->keeps_negative_steps;
    if (!intake.skips(record->metric, is_of_trace ? std::optional(step) : std::nullopt))
      return unknown_metric(record->metric);
  }
  return std::nullopt;
}

bool raw_log_matches(std::string_view head) {
  while (!head.empty()) {
    const std::size_t newline = head.find('\n');
    if (find_raw_log_record(head.substr(0, newline))) return true;
    head.remove_prefix(newline == std::string_view::npos ? head.size() : newline + 1);
  }
  return false;
}

// A file without ops is fine: the newest of rotated files may hold no more than a marker.
Result<FileNotes> append_raw_log_file(ByteSource& source, TraceIntake& intake) {
  GOODPUT_TRY(const RawLogReading reading, append_raw_log(source, intake));
  FileNotes notes;
  const auto left_out = [&](std::size_t count, std::string_view what) {
    if (count > 0) notes.push_back(fmt::format("{}: ignored {}: {}", source.path(), what, count));
  };
  left_out(reading.foreign_lines, "lines of other loggers");
  left_out(reading.ignored_metrics, "lines of metrics that are not ops of a step");
  left_out(reading.before_training, "ops from before the first step");
  return notes;
}

// Sizes as the log states them.
struct World {
  std::int32_t dp_size = 0;
  std::int32_t pp_size = 0;
  std::int32_t world_size = 0;

  explicit World(const OpTrace& trace) {
    for (std::size_t i = 0; i < trace.size(); ++i) {
      dp_size = std::max(dp_size, trace.dp_rank[i] + 1);
      pp_size = std::max(pp_size, trace.stage[i] + 1);
      world_size = std::max(world_size, trace.rank[i] + 1);
    }
  }
};

// The record of the ops first .. last-1: of one type, step and worker.
void write_record(const OpTrace& trace, std::size_t first, std::size_t last, const World& world,
                  std::string& text) {
  const auto list = [&](const std::vector<double>& values) {
    for (std::size_t i = first; i < last; ++i) append(text, "{}{}", i > first ? ", " : "", values[i]);
  };
  double elapsed = 0;
  for (std::size_t i = first; i < last; ++i) elapsed += trace.duration_s[i];
  append(text, "2024-05-01 12:00:00,000 - metric_name: {}, elapsed: {}, recent_elapsed_raw_parts: [",
         to_string(trace.optype[first]), elapsed);
  list(trace.duration_s);
  text += "], recent_since_start_raw_parts: [";
  list(trace.start_s);
  text += "], tags: [";
  const std::string_view key = trace.step[first] < 0 ? kNegativeStepKey : "step";
  for (std::size_t i = first; i < last; ++i)
    append(text, "{}{{'{}': {}}}", i > first ? ", " : "", key, trace.step[i]);
  append(
      text,
      "], step_range: range({}, {}), world_info: WorldInfo: TopoInfo(rank={}, dp_rank={}, ddp_rank=0, "
      "tp_rank=0, pp_rank={}, local_rank=0, ip='127.0.0.1', dp_size={}, ddp_size=1, tp_size=1, pp_size={}, "
      "world_size={}) TrainingInfo(role_id=0, trial_id=0, run_id=0) {{}}\n",
      trace.step[first], trace.step[first] + 1, trace.rank[first], trace.dp_rank[first], trace.stage[first],
      world.dp_size, world.pp_size, world.world_size);
}

// A raw log has no seq_id, mc, mb_id and gmc: readers derive them from the order of the ops.
Status write_raw_log(const OpTrace& trace, const std::string& path, std::string_view final_path) {
  constexpr std::size_t kFlushBytes = std::size_t{1} << 20;
  GOODPUT_TRY(ByteSink sink, ByteSink::open(path, final_path, ByteSink::Compression::kFast));
  const World world(trace);
  const auto belongs = [&](std::size_t a, std::size_t b) {
    return trace.step[a] == trace.step[b] && trace.rank[a] == trace.rank[b] &&
           trace.stage[a] == trace.stage[b] && trace.dp_rank[a] == trace.dp_rank[b] &&
           trace.optype[a] == trace.optype[b];
  };
  std::string text;
  for (std::size_t first = 0, last = 0; first < trace.size(); first = last) {
    while (last < trace.size() && belongs(first, last)) ++last;
    write_record(trace, first, last, world, text);
    if (text.size() < kFlushBytes) continue;
    GOODPUT_TRY_STATUS(sink.write(text));
    text.clear();
  }
  GOODPUT_TRY_STATUS(sink.write(text));
  return sink.close();
}

}  // namespace

// What is wrong with a record that another one follows in its line; it may read as one with that.
static std::optional<std::string> fault_of_joined(std::string_view text) {
  const auto record = parse_raw_log_record(text);
  return record ? "the record is cut short, and another one begins in the same line" : record.error().what;
}

std::optional<std::string> append_raw_log_line(std::string_view line, const Position& at, TraceIntake& intake,
                                               RawLogReading& reading) {
  auto text = find_raw_log_record(line);
  if (!text) {
    if (line.find_first_not_of(kBlanks) != std::string_view::npos) ++reading.foreign_lines;
    return std::nullopt;
  }
  while (true) {
    auto cut = holds_another_record(*text) ? find_cut(*text) : std::nullopt;
    auto problem = cut ? fault_of_joined(*text) : append_record(*text, at, intake, reading);
    if (!problem || intake.is_strict()) return problem;
    if (!cut) cut = find_cut(*text);
    if (!cut) return problem;
    intake.count_at(CleaningRule::kCutRecords, at, *problem);
    for (const std::int64_t step : cut->steps) intake.count(CleaningRule::kCutRecords, 0, step);
    if (cut->behind.empty()) return std::nullopt;
    text = cut->behind;
  }
}

Result<RawLogReading> append_raw_log(ByteSource& source, TraceIntake& intake) {
  LineReader lines(source);
  RawLogReading reading;
  while (true) {
    GOODPUT_TRY(const std::optional<std::string_view> line, lines.next());
    if (!line) return reading;
    const Position at = Position::line(lines.number());
    if (const auto problem = append_raw_log_line(*line, at, intake, reading)) {
      return Error{*problem, {.file = source.path(), .position = at}};
    }
  }
}

OpTraceFormat op_trace_format_raw_log() {
  return {.name = "raw_log",
          .summary =
              "NDTimeline's raw log (.log, .log.1, ..., .gz); op IDs are derived from the order of the ops",
          .extensions = {".log", ".log.gz"},
          .matches = raw_log_matches,
          .append_file = append_raw_log_file,
          .write = write_raw_log};
}

}  // namespace goodput
