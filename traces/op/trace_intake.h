// What the readers of op traces fill: the rows, and what of the files could not be taken as it stood.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/errors.h"
#include "sim/ops/cleaning_finding.h"
#include "sim/ops/op_trace.h"

namespace goodput {

// Sizes of the job as its files state them; 0: they do not.
struct StatedSizes {
  std::int64_t dp_size = 0;
  std::int64_t pp_size = 0;
  std::int64_t world_size = 0;  // GPUs
};

// Not thread-safe. One for all files of a trace.
class TraceIntake {
 public:
  enum class Mode : std::uint8_t {
    kClean,   // rows that say nothing are left out and counted
    kStrict,  // they are errors, which the reader that meets them reports
  };

  // `seconds_per_unit`: of the times of the rows that are appended.
  explicit TraceIntake(Mode mode = Mode::kClean, double seconds_per_unit = 1)
      : mode_(mode), seconds_per_unit_(seconds_per_unit) {}

  [[nodiscard]] bool is_strict() const { return mode_ == Mode::kStrict; }
  [[nodiscard]] double seconds_per_unit() const { return seconds_per_unit_; }
  [[nodiscard]] OpTrace& trace() { return trace_; }
  [[nodiscard]] const OpTrace& trace() const { return trace_; }

  // The file that is read from here on: the place of what is found.
  void begin_file(std::string path) { path_ = std::move(path); }

  // Adds a row. A damaged one is left out and counted, unless strict. Returns what is wrong with a row that
  // is to be refused; nothing is added then.
  [[nodiscard]] std::optional<std::string> append(OpRow row, const Position& at) {
    if (seconds_per_unit_ != 1) {
      row.start_s *= seconds_per_unit_;
      row.duration_s *= seconds_per_unit_;
    }
    std::optional<std::string> problem = trace_.append(row);
    if (problem || row.duration_s < 0) settle(row, at, problem);
    return problem;
  }

  // Takes note of `count` more finds of a rule, in `step` where that is known.
  void count(CleaningRule rule, std::size_t count, std::optional<std::int64_t> step = std::nullopt);
  // The same of one, whose place and `what` are kept if they are the first of the rule.
  void count_at(CleaningRule rule, const Position& at, std::string_view what,
                std::optional<std::int64_t> step = std::nullopt);
  [[nodiscard]] std::size_t count_of(CleaningRule rule) const;
  // Whether a row of an op type that is not known is to be left out; it is counted then, in `step` where that
  // is known. Not so when strict, and when the name is that of an op whose absence would change the answers.
  [[nodiscard]] bool skips(std::string_view name, std::optional<std::int64_t> step = std::nullopt);

  // Rows came without a model chunk, micro-batch or global model chunk: fill_absent_chunks() is worth a try.
  void note_absent_chunks() { has_absent_chunks_ = true; }
  [[nodiscard]] bool has_absent_chunks() const { return has_absent_chunks_; }

  // The host of a rank, where the file names it. Loopback addresses name none.
  void note_host(std::int64_t rank, std::string_view host);
  [[nodiscard]] const std::map<std::int64_t, std::string>& hosts() const { return hosts_; }

  // What was stated last.
  void note_sizes(const StatedSizes& sizes);
  [[nodiscard]] const StatedSizes& stated_sizes() const { return sizes_; }

  // Fails when less than half of the rows are of known op types.
  [[nodiscard]] Status check_known_share() const;

  // One a rule, in the order of the rules.
  [[nodiscard]] std::vector<CleaningFinding> findings() const;
  // What came since the last call, for those who take rows as they come.
  [[nodiscard]] OpTrace take_rows() { return std::exchange(trace_, {}); }
  [[nodiscard]] std::vector<CleaningFinding> take_findings();
  [[nodiscard]] OpTrace take_trace() && { return std::move(trace_); }

 private:
  struct Found {
    std::size_t count = 0;
    std::set<std::int64_t> steps;
    std::string first;  // place and message
  };

  void settle(const OpRow& row, const Position& at, std::optional<std::string>& problem);
  [[nodiscard]] std::string unknown_names() const;

  Mode mode_;
  double seconds_per_unit_;
  OpTrace trace_;
  std::string path_;
  std::map<CleaningRule, Found> found_;
  std::map<std::string, std::size_t, std::less<>> unknown_;  // rows by name
  std::map<std::int64_t, std::string> hosts_;
  StatedSizes sizes_;
  bool has_absent_chunks_ = false;
};

// Whether a row is fine but for a start or duration that is no finite number, or a duration of -10 ms or
// below.
[[nodiscard]] bool is_damaged(const OpRow& row);

}  // namespace goodput
