#include "tools/monitor/job_intake.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "sim/base/text.h"
#include "traces/follow/job_folder.h"
#include "traces/io/byte_source.h"
#include "traces/io/csv_lines.h"
#include "traces/io/formats.h"
#include "traces/op/csv_reader.h"
#include "traces/op/job_metadata_file.h"
#include "traces/op/op_trace_format.h"
#include "traces/op/raw_log.h"
#include "traces/op/trace_intake.h"

namespace goodput {
namespace {

std::string first_line(std::string_view text) {
  return std::string(without_line_end(text.substr(0, text.find('\n')))) +
         "\n";  // a number needs an end behind it
}

bool is_of_rows(CleaningRule rule) {
  return rule == CleaningRule::kDamagedRows || rule == CleaningRule::kNegativeDurations;
}

}  // namespace

// How far a text file is, and what its lines are.
class JobIntake::File {
 public:
  // `head`: how its content begins.
  File(const FollowedPiece& piece, std::string_view head, double seconds_per_unit)
      : intake_(TraceIntake::Mode::kClean, seconds_per_unit), header_(first_line(head)) {
    if (!is_op_csv(header_)) return;
    csv_.emplace(piece.path, intake_);
    const bool is_begun = piece.offset > 0;                        // a former process has read the header
    if (is_begun) (void)csv_->take(without_line_end(header_), 1);  // is_op_csv() says that it is one
  }

  // What is wrong with the line, if anything.
  [[nodiscard]] std::optional<std::string> take(std::string_view line, std::size_t number) {
    if (!csv_) return append_raw_log_line(line, Position::line(number), intake_, reading_);
    const Status status = csv_->take(line, number);
    return status ? std::nullopt : std::optional(status.error().what);
  }

  [[nodiscard]] TraceIntake& intake() { return intake_; }

  std::string path;  // its name now
  std::optional<std::int64_t> latest_step;

 private:
  TraceIntake intake_;
  RawLogReading reading_;
  std::string header_;
  std::optional<OpCsvLines> csv_;
};

JobIntake::JobIntake(JobIntakeOptions options) : options_(std::move(options)), steps_(options_.steps) {
  facts_.name = options_.name;
}
JobIntake::JobIntake(JobIntake&&) noexcept = default;
JobIntake::~JobIntake() = default;

Result<JobIntake> JobIntake::open(JobIntakeOptions options) {
  JobIntake job(std::move(options));
  if (!job.options_.metadata_path.empty())
    GOODPUT_TRY_STATUS(job.read_metadata(job.options_.metadata_path));
  else
    GOODPUT_TRY_STATUS(job.look_for_metadata());
  return job;
}

Status JobIntake::look_for_metadata() {
  if (!facts_.metadata_path.empty() || options_.folder.empty()) return Ok{};
  const std::string path = metadata_in(options_.folder);
  return path.empty() ? Status(Ok{}) : read_metadata(path);
}

Status JobIntake::read_metadata(const std::string& path) {
  GOODPUT_TRY(facts_.metadata, read_job_metadata(path));
  facts_.metadata_path = path;
  steps_.set_sizes(facts_.metadata.dp_size, facts_.metadata.pp_size);
  return Ok{};
}

JobIntake::File& JobIntake::file_of(const FollowedPiece& piece, std::string_view head) {
  std::unique_ptr<File>& file = files_[piece.file];
  if (!file) file = std::make_unique<File>(piece, head, options_.seconds_per_unit);
  return *file;
}

void JobIntake::note_bad_line(const std::string& problem) {
  ++bad_lines_;
  last_bad_line_ = on_one_line(problem);
}

void JobIntake::take_line(File& file, std::string_view line, std::size_t number, const RowSource& source,
                          double now_s) {
  TraceIntake& intake = file.intake();
  const std::size_t before = intake.trace().size();
  const auto problem = file.take(line, number);
  const OpTrace& rows = intake.trace();
  if (rows.size() > before) {
    const StatedSizes& sizes = intake.stated_sizes();
    const RowSource stated{source.file, source.offset, source.is_replay, sizes.dp_size, sizes.pp_size};
    steps_.add(rows, before, rows.size(), stated, now_s);
    file.latest_step = rows.step.back();
    rows_ += rows.size() - before;
  }
  if (problem) {
    const Error error{*problem, {.file = file.path, .position = Position::line(number)}};
    note_bad_line(error.message());
  }
}

void JobIntake::forget_file(FileNumber file) {
  files_.erase(file);
  steps_.forget_file(file);
}

// Hosts, sizes, and what the reader left out, which are findings of the steps it was in.
void JobIntake::take_notes(File& file) {
  TraceIntake& intake = file.intake();
  for (const auto& [rank, host] : intake.hosts()) facts_.hosts[rank] = host;
  if (intake.stated_sizes().world_size > 0) facts_.world_size = intake.stated_sizes().world_size;
  facts_.has_absent_chunks = facts_.has_absent_chunks || intake.has_absent_chunks();
  std::vector<CleaningFinding> findings = intake.take_findings();
  for (const CleaningFinding& finding : findings) {
    if (!info(finding.rule).strict) continue;
    bad_lines_ += finding.count;
    if (!finding.detail.empty()) last_bad_line_ = on_one_line(finding.detail);
  }
  // Of whom a line was that could not be read nobody knows: it is counted, but no step's.
  std::erase_if(findings, [](const CleaningFinding& finding) { return !is_of_rows(finding.rule); });
  if (!findings.empty()) steps_.note_findings(findings);
}

void JobIntake::take(const FollowedPiece& piece, std::string_view head, double now_s) {
  File& file = file_of(piece, head);
  file.path = piece.path;
  file.intake().begin_file(piece.path);
  std::string_view text = piece.text;
  std::size_t number = piece.first_line;
  for (std::uint64_t offset = piece.offset; !text.empty(); ++number) {
    const std::size_t end = std::min(text.find('\n'), text.size() - 1) + 1;
    const std::string_view line = without_line_end(text.substr(0, end));
    take_line(file, line, number, {.file = piece.file, .offset = offset, .is_replay = piece.is_replay},
              now_s);
    text.remove_prefix(end);
    offset += end;
  }
  take_notes(file);
  (void)file.intake().take_rows();
}

void JobIntake::take_file(const FollowedPiece& piece, double now_s) {
  File& file = file_of(piece, {});
  TraceIntake& intake = file.intake();
  intake.begin_file(piece.path);
  const auto read = [&]() -> Status {
    GOODPUT_TRY(ByteSource source, ByteSource::open(piece.open_path));
    source.accept_truncation();
    GOODPUT_TRY(const OpTraceFormat format, format_of(op_trace_formats(), "op trace", "", source));
    GOODPUT_TRY([[maybe_unused]] const FileNotes notes, format.append_file(source, intake));
    return Ok{};
  };
  const Status status = read();
  if (!status) {
    Error error = status.error();
    error.where.file = piece.path;
    note_bad_line(error.message());
  }
  const OpTrace rows = intake.take_rows();
  if (rows.size() > 0) {
    const StatedSizes& sizes = intake.stated_sizes();
    steps_.add_file(rows, {piece.file, piece.offset, piece.is_replay, sizes.dp_size, sizes.pp_size}, now_s);
    file.latest_step = *std::ranges::max_element(rows.step);
    rows_ += rows.size();
  }
  take_notes(file);
}

std::optional<std::int64_t> JobIntake::step_of(FileNumber file) const {
  const auto known = files_.find(file);
  return known == files_.end() ? std::nullopt : known->second->latest_step;
}

}  // namespace goodput
