#include "sim/cleaning/plausible_times.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "sim/base/float32.h"
#include "sim/base/statistics.h"
#include "sim/cleaning/step_list.h"

namespace goodput {
namespace {

// Below this start time float32 still resolves 8 us.
constexpr double kWellResolvedS = 128;
// Share of the median op. Coarser starts change S by a percent and look like clocks that disagree.
constexpr double kCoarsest = 0.05;

// How many times as long as its peers' a worker's step may be, and how many times as long as the median step
// a step may be. Stragglers stay far below, because the other workers of the step wait for them.
constexpr double kMostTimesAsLong = 20;
// The limit for one worker in some steps only; beyond it, its clock was set inside these steps.
constexpr double kTooLong = 2;
// The least share of the time between their starts that a worker's operations take, waiting included.
constexpr double kLeastCover = 0.05;
// A worker's step counter is off if its step lengths differ from the others' by at least the first share of a
// step, and match at least the second factor better under other numbers.
constexpr double kLeastApart = 1e-3;
constexpr double kMuchCloser = 8;
constexpr std::size_t kEnoughSteps = 4;
constexpr std::size_t kFewWorkers = 16;

double median_duration(const OpTrace& trace) {
  std::vector<double> durations;
  std::copy_if(trace.duration_s.begin(), trace.duration_s.end(), std::back_inserter(durations),
               [](double duration) { return duration > 0; });
  return durations.empty() ? 0 : take_median(durations);
}

Status check_resolution(const OpTrace& trace) {
  const auto largest = std::max_element(trace.start_s.begin(), trace.start_s.end(),
                                        [](double a, double b) { return std::abs(a) < std::abs(b); });
  const double start = std::abs(*largest);
  if (start < kWellResolvedS) return Ok{};
  const auto is_float32 = [](double x) { return round_to_float32(x) == x; };
  if (!std::all_of(trace.start_s.begin(), trace.start_s.end(), is_float32)) return Ok{};
  const auto narrow = static_cast<float>(start);
  const double resolution =
      static_cast<double>(std::nextafter(narrow, std::numeric_limits<float>::infinity()) - narrow);
  const double duration = median_duration(trace);
  if (resolution <= kCoarsest * duration) return Ok{};
  return Error{fmt::format(
      "start times near {:.6g} s are float32 values, {:.3g} s apart, but the median op takes {:.3g} s, so "
      "the order of ops is lost; record start_ts as float64 or relative to the start of each step",
      start, resolution, duration)};
}

// What one worker recorded in one step.
struct WorkerStep {
  double first_start_s = std::numeric_limits<double>::infinity();
  double last_start_s = -std::numeric_limits<double>::infinity();
  double last_end_s = -std::numeric_limits<double>::infinity();
  double busy_s = 0;    // all durations
  double passes_s = 0;  // those of passes, which run one after the other
  std::uint32_t rows = 0;
  bool has_empty_pass = false;

  [[nodiscard]] double span_s() const { return last_end_s - first_start_s; }
};

enum class Fault : std::uint8_t {
  kNone,
  kEmptyPass,
  kSameStarts,
  kSpan,            // in another unit than the other workers'
  kLongSpan,        // much longer than the other workers', and no operation runs meanwhile
  kShortDurations,  // durations in another unit than starts
  kLongDurations,
};

std::string worker_text(const TraceIndex& index, std::size_t worker) {
  const auto stages = static_cast<std::size_t>(index.pp_size());
  return fmt::format("rank {} (dp_rank {}, stage {})", index.ranks[worker], worker / stages, worker % stages);
}

// `997`, `1/1000`
std::string times_text(double ratio) {
  return ratio >= 1 ? fmt::format("{:.0f}", ratio) : fmt::format("1/{:.0f}", 1 / ratio);
}

// Names the unit of times that are `ratio` times too long, if `ratio` is near a power of 1000.
std::string unit_text(double ratio) {
  constexpr std::pair<double, std::string_view> kUnits[] = {
      {1e3, "milliseconds"}, {1e6, "microseconds"}, {1e9, "nanoseconds"}};
  for (const auto& [factor, name] : kUnits) {
    if (ratio > factor / 3 && ratio < factor * 3) return fmt::format(", probably {}", name);
  }
  return "";
}

// The shorter of two, because a wrong unit is usually a finer one and makes times longer.
double take_lower_median(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>((values.size() - 1) / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

class TimeCheck {
 public:
  TimeCheck(const OpTrace& trace, const TraceIndex& index)
      : index_(index), workers_(index.ranks.size()), cells_(workers_ * index.steps.size()) {
    const auto stages = static_cast<std::size_t>(index.pp_size());
    for (std::size_t row = 0; row < trace.size(); ++row) {
      WorkerStep& cell =
          cells_[index.step_of_row[row] * workers_ + static_cast<std::size_t>(trace.dp_rank[row]) * stages +
                 static_cast<std::size_t>(trace.stage[row])];
      const double start = trace.start_s[row];
      const double duration = trace.duration_s[row];
      cell.first_start_s = std::min(cell.first_start_s, start);
      cell.last_start_s = std::max(cell.last_start_s, start);
      cell.last_end_s = std::max(cell.last_end_s, start + duration);
      cell.busy_s += duration;
      ++cell.rows;
      if (!is_pass(trace.optype[row])) continue;
      cell.passes_s += duration;
      cell.has_empty_pass = cell.has_empty_pass || duration == 0;
    }
    std::vector<double> spans(workers_);
    for (std::size_t step = 0; step < index.steps.size(); ++step) {
      for (std::size_t worker = 0; worker < workers_; ++worker) spans[worker] = cell(step, worker).span_s();
      step_s_.push_back(take_lower_median(spans));
    }
    std::vector<double> steps = step_s_;
    median_s_ = take_lower_median(steps);
  }

  [[nodiscard]] Status check_median() const {
    if (median_s_ >= kShortestStepS && median_s_ <= kLongestStepS) return Ok{};
    const bool is_long = median_s_ > kLongestStepS;
    return Error{fmt::format("the median step takes {:.3g} s, but a training step takes from 10 us to 1 "
                             "hour, so the times are not in seconds; give the time unit with {}{}",
                             median_s_, kOption, is_long ? " ms, us or ns" : ""),
                 {},
                 "time-unit"};
  }

  // Fails if a worker has the same fault in every step.
  [[nodiscard]] Status check_workers() const {
    std::size_t faulty = 0;
    std::optional<std::size_t> first;
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      const Fault fault = fault_of(0, worker);
      bool is_constant = fault != Fault::kNone && fault != Fault::kLongSpan;
      for (std::size_t step = 1; is_constant && step < step_s_.size(); ++step)
        is_constant = fault_of(step, worker) == fault;
      if (!is_constant) continue;
      ++faulty;
      if (!first) first = worker;
    }
    if (!first) return Ok{};
    return Error{in_every_step(*first, faulty == workers_)};
  }

  // Fails if a worker's step lengths match the others' under other step numbers: all workers of a step wait
  // for each other, so the step takes all of them equally long.
  [[nodiscard]] Status check_counters() const {
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      const double apart = apart_by(worker, 0);
      if (!(apart > kLeastApart * median_s_)) continue;
      for (const std::int64_t off : {1, -1}) {
        if (!(apart_by(worker, off) * kMuchCloser < apart)) continue;
        return Error{
            fmt::format("each step of {} takes as long as the step with the next {} number on the other "
                        "workers, so the step counter of this worker is off by one; correct its step numbers",
                        worker_text(index_, worker), off > 0 ? "lower" : "higher")};
      }
    }
    return Ok{};
  }

  [[nodiscard]] std::optional<ImplausibleStep> problem_of(std::size_t step) const {
    const std::int64_t number = index_.steps[step];
    const double ratio = step_s_[step] / median_s_;
    if (is_far(ratio)) {
      return ImplausibleStep{number, CleaningRule::kOtherUnits,
                             fmt::format("step {} is {} times as long as the median step, so the times of "
                                         "this step are in a different unit{}",
                                         number, times_text(ratio), unit_text(ratio))};
    }
    for (std::size_t worker = 0; worker < workers_; ++worker) {
      const Fault fault = fault_of(step, worker);
      if (fault == Fault::kNone || (fault == Fault::kLongSpan && is_often_long(worker))) continue;
      const bool is_lost = fault == Fault::kEmptyPass || fault == Fault::kSameStarts;
      const CleaningRule rule = is_lost                     ? CleaningRule::kLostTimes
                                : fault == Fault::kLongSpan ? CleaningRule::kClockSets
                                                            : CleaningRule::kOtherUnits;
      return ImplausibleStep{number, rule, in_one_step(step, worker, fault)};
    }
    return std::nullopt;
  }

 private:
  // How far a worker's step lengths are from the others' under numbers lower by `off`: the median deviation
  // if `off` is 0, else the largest one, because no step may contradict. Infinite if too few steps compare.
  [[nodiscard]] double apart_by(std::size_t worker, std::int64_t off) const {
    std::vector<double> apart;
    for (std::size_t step = 0; step < index_.steps.size(); ++step) {
      const auto other = std::ranges::lower_bound(index_.steps, index_.steps[step] - off);
      if (other == index_.steps.end() || *other != index_.steps[step] - off) continue;
      const auto other_step = static_cast<std::size_t>(other - index_.steps.begin());
      apart.push_back(cell(step, worker).span_s() - span_of_others(other_step, worker));
    }
    if (apart.size() < kEnoughSteps) return std::numeric_limits<double>::infinity();
    const double usual = take_median(apart);
    for (double& at : apart) at = std::abs(at - usual);
    return off == 0 ? take_median(apart) : *std::ranges::max_element(apart);
  }

  [[nodiscard]] const WorkerStep& cell(std::size_t step, std::size_t worker) const {
    return cells_[step * workers_ + worker];
  }
  [[nodiscard]] static bool is_far(double ratio) {
    return ratio > kMostTimesAsLong || ratio * kMostTimesAsLong < 1;
  }

  // The lower median. Among many workers, including the worker itself does not matter.
  [[nodiscard]] double span_of_others(std::size_t step, std::size_t worker) const {
    if (workers_ > kFewWorkers) return step_s_[step];
    std::vector<double> others;
    for (std::size_t i = 0; i < workers_; ++i) {
      if (i != worker) others.push_back(cell(step, i).span_s());
    }
    return others.empty() ? cell(step, worker).span_s() : take_lower_median(others);
  }

  // A fault in half of the steps or more is how the job is recorded, whatever the reason.
  [[nodiscard]] bool is_often_long(std::size_t worker) const {
    std::size_t often = 0;
    for (std::size_t step = 0; step < step_s_.size(); ++step)
      often += fault_of(step, worker) == Fault::kLongSpan ? 1 : 0;
    return 2 * often >= step_s_.size();
  }

  [[nodiscard]] Fault fault_of(std::size_t step, std::size_t worker) const {
    const WorkerStep& own = cell(step, worker);
    if (own.has_empty_pass) return Fault::kEmptyPass;
    const double starts_s = own.last_start_s - own.first_start_s;
    if (own.rows > 1 && starts_s == 0) return Fault::kSameStarts;
    if (is_far(own.span_s() / step_s_[step])) return Fault::kSpan;
    const double uncovered_s = own.span_s() - own.busy_s;
    if (own.span_s() > kTooLong * step_s_[step] && 2 * uncovered_s > own.span_s() - step_s_[step])
      return Fault::kLongSpan;
    if (own.busy_s < kLeastCover * own.span_s()) return Fault::kShortDurations;
    if (own.passes_s > kMostTimesAsLong * starts_s) return Fault::kLongDurations;
    return Fault::kNone;
  }

  [[nodiscard]] std::string in_every_step(std::size_t worker, bool are_all) const {
    const WorkerStep& own = cell(0, worker);
    const std::string who = are_all ? "every worker" : worker_text(index_, worker);
    switch (fault_of(0, worker)) {
      case Fault::kEmptyPass:
        return fmt::format("passes of {} have zero duration in every step; record their durations", who);
      case Fault::kSameStarts:
        return fmt::format(
            "all operations of {} start at the same time in every step; record their start times", who);
      case Fault::kSpan: {
        const double ratio = own.span_s() / step_s_[0];
        return fmt::format(
            "every step of {} is {} times as long as on the other workers, so the times of this worker are "
            "in a different unit{}; convert them to the unit of the others",
            who, times_text(ratio), unit_text(ratio));
      }
      default:
        return fmt::format(
            "the operations of {} take {} the time between their starts, so durations and starts are in "
            "different units; write both in seconds",
            who, cover_text(own));
    }
  }

  [[nodiscard]] std::string in_one_step(std::size_t step, std::size_t worker, Fault fault) const {
    const std::string who = worker_text(index_, worker);
    const WorkerStep& own = cell(step, worker);
    const std::int64_t number = index_.steps[step];
    switch (fault) {
      case Fault::kEmptyPass:
        return fmt::format("a pass of {} has zero duration in step {}", who, number);
      case Fault::kSameStarts:
        return fmt::format("all operations of {} start at the same time in step {}", who, number);
      case Fault::kLongSpan:
        return fmt::format(
            "step {} of {} is {:.1f} times as long as on the other workers, but no operation runs in the "
            "extra time: the clock of this worker jumped",
            number, who, own.span_s() / step_s_[step]);
      case Fault::kSpan:
        return fmt::format("step {} of {} is {} times as long as on the other workers", number, who,
                           times_text(own.span_s() / step_s_[step]));
      default:
        return fmt::format("the operations of {} take {} the time between their starts in step {}", who,
                           cover_text(own), number);
    }
  }

  [[nodiscard]] static std::string cover_text(const WorkerStep& own) {
    const double starts_s = own.last_start_s - own.first_start_s;
    if (own.passes_s > kMostTimesAsLong * starts_s)
      return fmt::format("{:.3g} times", own.passes_s / starts_s);
    return fmt::format("{:.2g} % of", 100 * own.busy_s / own.span_s());
  }

  const TraceIndex& index_;
  std::size_t workers_;
  std::vector<WorkerStep> cells_;  // by step, then worker
  std::vector<double> step_s_;     // lower median over the workers
  double median_s_ = 0;
};

}  // namespace

Result<std::vector<ImplausibleStep>> find_implausible_steps(const OpTrace& trace, const TraceIndex& index) {
  GOODPUT_TRY_STATUS(check_resolution(trace));
  const TimeCheck check(trace, index);
  GOODPUT_TRY_STATUS(check.check_workers());
  GOODPUT_TRY_STATUS(check.check_median());
  GOODPUT_TRY_STATUS(check.check_counters());
  std::vector<ImplausibleStep> steps;
  for (std::size_t step = 0; step < index.steps.size(); ++step) {
    if (auto problem = check.problem_of(step)) steps.push_back(*std::move(problem));
  }
  if (2 * steps.size() < index.steps.size() || steps.empty()) return steps;
  return Error{fmt::format("the times of {} of {} steps are unusable: {}; select the good steps with {}",
                           steps.size(), index.steps.size(), steps.front().problem, kOption),
               {},
               "steps"};
}

}  // namespace goodput
