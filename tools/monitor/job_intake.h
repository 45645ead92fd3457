// From what a job's files bring, line by line, to steps: one object a job.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/errors.h"
#include "sim/live/step_intake.h"
#include "tools/monitor/step_analysis.h"
#include "traces/follow/followed_files.h"

namespace goodput {

struct JobIntakeOptions {
  std::string name;
  std::string metadata_path;    // --meta; empty: meta.yaml in `folder`, where there is one
  std::string folder;           // empty: of a job whose rows are pushed
  double seconds_per_unit = 1;  // of times in CSV and Parquet
  StepIntakeOptions steps;
};

class JobIntake {
 public:
  // Fails where the metadata cannot be read.
  static Result<JobIntake> open(JobIntakeOptions options);

  JobIntake(JobIntake&&) noexcept;
  ~JobIntake();

  // A piece of lines. `head`: how the content of its file begins.
  void take(const FollowedPiece& piece, std::string_view head, double now_s);
  // All of a file (FollowedPiece::Kind::kWhole). What cannot be read counts as a bad line.
  void take_file(const FollowedPiece& piece, double now_s);

  [[nodiscard]] StepIntake& steps() { return steps_; }
  [[nodiscard]] const StepIntake& steps() const { return steps_; }
  [[nodiscard]] const JobFacts& facts() const { return facts_; }
  // The latest step in a file, as far as it was read; nothing: none yet.
  [[nodiscard]] std::optional<std::int64_t> step_of(FileNumber file) const;
  // Nothing of it comes any more.
  void forget_file(FileNumber file);

  // Lines and files that say nothing that could be used, and the latest of them, with its place.
  [[nodiscard]] std::uint64_t bad_lines() const { return bad_lines_; }
  [[nodiscard]] const std::string& last_bad_line() const { return last_bad_line_; }
  [[nodiscard]] std::uint64_t rows() const { return rows_; }

  // Looks for metadata that came later. Fails as open() does.
  Status look_for_metadata();

 private:
  class File;
  explicit JobIntake(JobIntakeOptions options);
  File& file_of(const FollowedPiece& piece, std::string_view head);
  void take_line(File& file, std::string_view line, std::size_t number, const RowSource& source,
                 double now_s);
  void take_notes(File& file);
  void note_bad_line(const std::string& problem);
  Status read_metadata(const std::string& path);

  JobIntakeOptions options_;
  StepIntake steps_;
  JobFacts facts_;
  std::map<FileNumber, std::unique_ptr<File>> files_;
  std::uint64_t bad_lines_ = 0;
  std::uint64_t rows_ = 0;
  std::string last_bad_line_;
};

}  // namespace goodput
