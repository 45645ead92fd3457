#include "sim/live/job_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>

#include "sim/base/text.h"

namespace goodput {
namespace {

std::string to_text(const StepSet& steps) {
  std::string text;
  for (const NumberRange& range : steps.ranges())
    text += fmt::format("{}{}-{}", text.empty() ? "" : ",", range.first, range.last);
  return text.empty() ? "-" : text;
}

Result<StepSet> to_steps(std::string_view text, const Error& broken) {
  StepSet steps;
  if (text == "-") return steps;
  GOODPUT_TRY(const std::vector<NumberRange> ranges, parse_number_ranges(text));
  for (const NumberRange& range : ranges) {
    if (steps.last() && range.first <= *steps.last()) return broken;
    steps.append(range);
  }
  return steps;
}

}  // namespace

void StepSet::insert(std::int64_t step) {
  const auto at = std::ranges::lower_bound(ranges_, step - 1, {}, &NumberRange::last);
  if (at == ranges_.end() || at->first > step + 1) {
    ranges_.insert(at, {step, step});
    if (ranges_.size() <= kMostRanges) return;
    ranges_[1].first = ranges_[0].first;
    ranges_.erase(ranges_.begin());
    return;
  }
  at->first = std::min(at->first, step);
  at->last = std::max(at->last, step);
  const auto next = std::next(at);
  if (next != ranges_.end() && next->first <= at->last + 1) {
    at->last = std::max(at->last, next->last);
    ranges_.erase(next);
  }
}

bool StepSet::contains(std::int64_t step) const {
  const auto range = std::ranges::lower_bound(ranges_, step, {}, &NumberRange::last);
  return range != ranges_.end() && range->first <= step;
}

std::optional<std::int64_t> StepSet::last() const {
  return ranges_.empty() ? std::nullopt : std::optional(ranges_.back().last);
}

std::int32_t JobRuns::run_at(double start_s) const {
  if (!is_absolute_time(start_s)) return latest();
  std::int32_t run = latest();
  while (run > 0 && at(run).border_s > start_s) --run;
  return run;
}

std::int32_t JobRuns::begin(std::optional<double> border_s) {
  Run run;
  if (border_s) run.border_s = *border_s;
  runs_.push_back(std::move(run));
  return latest();
}

bool JobRuns::is_finished(StepId id) const {
  return id.run <= latest() && at(id.run).finished.contains(id.step);
}

bool JobRuns::is_whole(StepId id) const {
  return is_finished(id) && !at(id.run).incomplete.contains(id.step);
}

void JobRuns::finish(StepId id, std::optional<double> end_s, bool is_whole) {
  GOODPUT_CHECK(id.run <= latest(), "the job has no such run");
  Run& run = runs_[static_cast<std::size_t>(id.run)];
  const std::optional<std::int64_t> last = run.finished.last();
  if (end_s && (!last || id.step > *last)) run.end_s = end_s;
  run.finished.insert(id.step);
  if (!is_whole) run.incomplete.insert(id.step);
}

// A line a run: border, end ("-": none), ranges of finished and of incomplete steps. Runs behind the last one
// with a finished step are found again, by the rows that began them.
std::string JobRuns::save() const {
  std::size_t known = runs_.size();
  while (known > 1 && !runs_[known - 1].finished.last()) --known;
  std::string text;
  for (std::size_t i = 0; i < known; ++i) {
    const Run& run = runs_[i];
    text += std::isfinite(run.border_s) ? fmt::format("{}", run.border_s) : "-";
    text += run.end_s ? fmt::format(" {}", *run.end_s) : " -";
    text += fmt::format(" {} {}\n", to_text(run.finished), to_text(run.incomplete));
  }
  return text;
}

Result<JobRuns> JobRuns::restore(std::string_view text) {
  const Error broken{"the stored runs of the job are damaged"};
  JobRuns runs;
  runs.runs_.clear();
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::vector<std::string_view> words = split(text.substr(0, end), ' ');
    text.remove_prefix(std::min(end + 1, text.size()));
    if (words.size() != 4) return broken;
    Run run;
    const auto border_s = parse_number(words[0]);
    run.end_s = parse_number(words[1]);
    if ((!border_s && words[0] != "-") || (!run.end_s && words[1] != "-")) return broken;
    if (border_s) run.border_s = *border_s;
    GOODPUT_TRY(run.finished, to_steps(words[2], broken));
    GOODPUT_TRY(run.incomplete, to_steps(words[3], broken));
    runs.runs_.push_back(std::move(run));
  }
  if (runs.runs_.empty()) return broken;
  return runs;
}

}  // namespace goodput
