// The runs of a job, and which of their steps are finished.
//
// A job that goes back to an earlier step begins a new run. Where ops carry absolute times (Unix seconds),
// the time between the last op before and the first one after it is the border: whatever starts later belongs
// to the new run, also on a worker that does not go back itself. Where times are relative to their step, each
// worker changes over when it goes back.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/errors.h"
#include "sim/base/number_ranges.h"
#include "sim/live/step_result.h"

namespace goodput {

// Unix seconds, not seconds from the beginning of a step.
[[nodiscard]] inline bool is_absolute_time(double start_s) {
  constexpr double kLeast = 1e8;  // March 1973
  return start_s >= kLeast;
}

// Steps, most of which follow each other. Of the gaps between them only the latest are remembered: what is
// before those counts as there.
class StepSet {
 public:
  static constexpr std::size_t kMostRanges = 64;

  void insert(std::int64_t step);
  // REQUIRES: behind all that is there.
  void append(NumberRange range) { ranges_.push_back(range); }
  [[nodiscard]] bool contains(std::int64_t step) const;
  [[nodiscard]] std::optional<std::int64_t> last() const;
  [[nodiscard]] const std::vector<NumberRange>& ranges() const { return ranges_; }  // ascending, apart

 private:
  std::vector<NumberRange> ranges_;
};

class JobRuns {
 public:
  JobRuns() : runs_(1) {}

  // The run that a row belongs to by its time. Relative times: the latest.
  [[nodiscard]] std::int32_t run_at(double start_s) const;
  [[nodiscard]] std::int32_t latest() const { return static_cast<std::int32_t>(runs_.size()) - 1; }

  // Begins another run, which goes from `border_s` on; of relative times: nothing. Its number.
  std::int32_t begin(std::optional<double> border_s);

  [[nodiscard]] bool is_finished(StepId id) const;
  // Finished, and every worker had all of it: further rows of it are none that were late.
  [[nodiscard]] bool is_whole(StepId id) const;
  // `end_s`: of its last op, absolute; nothing where times are relative.
  void finish(StepId id, std::optional<double> end_s, bool is_whole);
  // When the last op of its latest finished step ended.
  [[nodiscard]] std::optional<double> end_of_last(std::int32_t run) const { return at(run).end_s; }

  // As text, for a process that goes on.
  [[nodiscard]] std::string save() const;
  static Result<JobRuns> restore(std::string_view text);

 private:
  struct Run {
    double border_s = -std::numeric_limits<double>::infinity();
    std::optional<double> end_s;  // of the last op of its latest finished step
    StepSet finished;
    StepSet incomplete;  // of these
  };
  [[nodiscard]] const Run& at(std::int32_t run) const { return runs_[static_cast<std::size_t>(run)]; }

  std::vector<Run> runs_;
};

}  // namespace goodput
