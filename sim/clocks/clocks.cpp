#include "sim/clocks/clocks.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "sim/base/statistics.h"
#include "sim/clocks/clock_network.h"
#include "sim/clocks/clock_refit.h"
#include "sim/clocks/clock_solver.h"

namespace goodput {
namespace {

constexpr double kSureOffset = 5;    // of its noise
constexpr double kSureConflict = 6;  // of its noise
constexpr double kSureDrift = 5;     // of its noise
constexpr double kDriftWorthAligning = 5e-6;
constexpr double kWayWorthAligningS = 4e-4;  // by how much a drift moves the clock over all steps
constexpr double kEnoughForDriftS = 30;  // of a recording: in less, noise of collectives looks like a drift
constexpr int kRoundsOfStep = 1;         // a second fit follows once the pieces are known
constexpr double kLeastSeriesNoiseS = 5e-5;
constexpr std::size_t kEnoughOwnChanges = 5;
constexpr std::size_t kManySteps = 8;
constexpr std::size_t kEnoughChanges = 10;  // to tell the noise of a step's offsets from how they vary

// Crystals are within 100 ppm of each other's rate, mostly; what is steeper than this is a jump.
constexpr CourseLimits kDrifts = {.least_steps = 2, .steepest = 3e-4};
constexpr CourseLimits kTrends = {.least_steps = 10};  // over step numbers

// Offsets by clock, then by step.
using Series = std::vector<std::vector<ClockDifference>>;

// By node: the smallest node that a chain of pairs leads to.
std::vector<std::uint32_t> find_components(const ClockNetwork& network) {
  std::vector<std::uint32_t> parent(network.nodes);
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&parent](std::uint32_t node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  for (const ClockPair& pair : network.pairs) {
    const std::uint32_t a = root(pair.a);
    const std::uint32_t b = root(pair.b);
    parent[std::max(a, b)] = std::min(a, b);
  }
  for (std::uint32_t node = 0; node < parent.size(); ++node) parent[node] = root(node);
  return parent;
}

// Solves each step by itself. An offset common to all clocks of a component is arbitrary.
Series solve_steps(const ClockNetwork& network, std::size_t steps) {
  Series series(network.names.size(), std::vector<ClockDifference>(steps));
  ClockSolver solver(network, std::vector<double>(network.nodes, 0.0));
  std::vector<double> precision(network.nodes);
  for (std::size_t step = 0; step < steps; ++step) {
    const auto differences = network.of_step(step);
    const std::vector<double>& offsets =
        solver.solve(differences, step == 0 ? ClockSolver::kMostRounds : kRoundsOfStep);
    std::fill(precision.begin(), precision.end(), 0.0);
    for (std::size_t i = 0; i < differences.size(); ++i) {
      const double own = 1 / (differences[i].noise_s * differences[i].noise_s);
      precision[network.pairs[i].a] += own;
      precision[network.pairs[i].b] += own;
    }
    for (std::size_t clock = 0; clock < series.size(); ++clock) {
      const double noise = precision[clock] > 0 ? 1 / std::sqrt(precision[clock]) : 0.0;
      series[clock][step] = {offsets[clock], std::max(noise, kLeastSeriesNoiseS)};
    }
  }
  return series;
}

// The median; of an even number of values, the middle one closer to 0, so that most values do not change.
double take_steady_middle(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const double low = values[(values.size() - 1) / 2];
  const double high = values[values.size() / 2];
  return std::abs(low) <= std::abs(high) ? low : high;
}

std::vector<double> seconds_of(const std::vector<ClockDifference>& series) {
  std::vector<double> seconds;
  for (const ClockDifference& at : series) seconds.push_back(at.seconds);
  return seconds;
}

// The lower median over the steps, so that it is an offset the clock really had.
double usual_offset(const ClockCourse& course, std::span<const double> time) {
  std::vector<double> offsets;
  for (std::size_t step = 0; step < time.size(); ++step) offsets.push_back(course.offset_s(step, time[step]));
  const auto middle = offsets.begin() + static_cast<std::ptrdiff_t>((offsets.size() - 1) / 2);
  std::nth_element(offsets.begin(), middle, offsets.end());
  return *middle;
}

// The clocks of one component. Their common course is removed from their series.
class Component {
 public:
  Component(const std::vector<std::uint32_t>& clocks, Series& series, std::span<const double> time,
            const CourseLimits& limits, const ClockNetwork& network)
      : clocks_(clocks), series_(series), time_(time), limits_(limits), network_(network) {
    const std::vector<double> first = seconds_of(series_[clocks_.front()]);
    for (const std::uint32_t clock : clocks_) {
      for (std::size_t step = 0; step < time_.size(); ++step) series_[clock][step].seconds -= first[step];
      slopes_.push_back(steady_slope(seconds_of(series_[clock]), time_, limits_));
    }
    take_out_common_changes();
  }

  // How much noisier the offsets of a step are than expected, from |change| / noise between steps.
  void add_changes(std::vector<double>& changes) const {
    for (std::size_t i = 1; i < clocks_.size(); ++i) {
      for (std::size_t step = 1; step < time_.size(); ++step) {
        const ClockDifference& now = series_[clocks_[i]][step];
        const ClockDifference& before = series_[clocks_[i]][step - 1];
        changes.push_back(std::abs(change(i, step)) / std::hypot(now.noise_s, before.noise_s));
      }
    }
  }

  // A clock is known no better than its offsets repeat. One that only noisy collectives connect to the others
  // wanders together with all clocks that exchange messages with it.
  void raise_noise() {
    if (time_.size() <= kEnoughOwnChanges) return;
    std::vector<double> changes;
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      changes.clear();
      for (std::size_t step = 1; step < time_.size(); ++step) changes.push_back(std::abs(change(i, step)));
      const double own = kDeviationOfMedian / std::sqrt(2.0) * take_median(changes);
      for (ClockDifference& at : series_[clocks_[i]]) at.noise_s = std::max(at.noise_s, own);
    }
  }

  // A clock's drift is measured relative to most clocks. The slope that all series share means little,
  // because their common changes are known no better than single steps.
  void take_out_common_slope() {
    std::vector<double> slopes;
    for (std::size_t i = 0; i < clocks_.size(); ++i)
      slopes.push_back(fit_course(series_[clocks_[i]], time_, slopes_[i], limits_, slack(i)).measured_slope);
    const double common = take_steady_middle(slopes);
    for (std::size_t i = 0; i < clocks_.size(); ++i) {
      slopes_[i] -= common;
      for (std::size_t step = 0; step < time_.size(); ++step)
        series_[clocks_[i]][step].seconds -= common * time_[step];
    }
  }

  // By clock.
  void fit(std::vector<ClockCourse>& courses) const {
    for (std::size_t i = 0; i < clocks_.size(); ++i)
      courses[clocks_[i]] = fit_course(series_[clocks_[i]], time_, slopes_[i], limits_, slack(i));
  }

  // The median clock becomes the reference.
  void take_reference(std::vector<ClockCourse>& courses) const {
    std::vector<double> slopes;
    for (const std::uint32_t clock : clocks_) slopes.push_back(courses[clock].slope);
    const double slope = take_steady_middle(slopes);
    std::vector<double> offsets;
    for (const std::uint32_t clock : clocks_) {
      courses[clock].slope -= slope;
      offsets.push_back(usual_offset(courses[clock], time_));
    }
    const double reference = take_steady_middle(offsets);
    for (const std::uint32_t clock : clocks_) {
      for (ClockPiece& piece : courses[clock].pieces) piece.offset_s -= reference;
    }
  }

 private:
  [[nodiscard]] std::vector<ClockSlack> slack(std::size_t i) const {
    std::vector<ClockSlack> own;
    for (std::size_t step = 0; step < time_.size(); ++step)
      own.push_back(network_.slack[step * network_.names.size() + clocks_[i]]);
    if (clocks_.size() != 2 || i == 0) return own;
    // The series of two clocks shows only their difference; either may be the one that is off.
    for (std::size_t step = 0; step < time_.size(); ++step) {
      const ClockSlack& first = network_.slack[step * network_.names.size() + clocks_[0]];
      own[step].early_s += first.late_s;
      own[step].late_s += first.early_s;
    }
    return own;
  }

  [[nodiscard]] double change(std::size_t i, std::size_t step) const {
    const std::vector<ClockDifference>& own = series_[clocks_[i]];
    return own[step].seconds - own[step - 1].seconds - slopes_[i] * (time_[step] - time_[step - 1]);
  }

  // If most clocks jump at once, the first clock jumped, because all are compared with it.
  void take_out_common_changes() {
    std::vector<double> common(time_.size(), 0.0);
    std::vector<double> changes;
    for (std::size_t step = 1; step < time_.size(); ++step) {
      changes.clear();
      for (std::size_t i = 0; i < clocks_.size(); ++i) changes.push_back(change(i, step));
      common[step] = common[step - 1] + take_steady_middle(changes);
    }
    for (const std::uint32_t clock : clocks_) {
      for (std::size_t step = 0; step < time_.size(); ++step) series_[clock][step].seconds -= common[step];
    }
  }

  std::vector<std::uint32_t> clocks_;
  Series& series_;
  std::span<const double> time_;
  CourseLimits limits_;
  const ClockNetwork& network_;
  std::vector<double> slopes_;  // in the order of clocks_
};

// The first worker's {first start, last end} in every step, as recorded.
std::vector<std::pair<double, double>> spans_of_first_worker(const Recording& recording) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  std::vector<std::pair<double, double>> spans(recording.steps.size(), {kNever, -kNever});
  for (const StepBlock& block : recording.blocks) {
    for (OpId op = 0; op < recording.ops.size(); ++op) {
      if (recording.ops[op].stage != 0) continue;
      for (std::size_t step = 0; step < block.shape.steps; ++step) {
        auto& [start, end] = spans[block.first_step + step];
        start = std::min(start, block.row(block.start_s, op)[step]);
        end = std::max(end, block.row(block.end_s, op)[step]);
      }
    }
  }
  for (std::size_t step = 0; step < recording.subtracted_s.size(); ++step) {
    spans[step].first += recording.subtracted_s[step];
    spans[step].second += recording.subtracted_s[step];
  }
  return spans;
}

// Seconds since the first step if nearly every step starts after most of the previous one has passed, else
// step numbers.
void find_times(const Recording& recording, ClockEstimate& estimate) {
  const auto spans = spans_of_first_worker(recording);
  std::size_t later = 0;
  for (std::size_t step = 1; step < spans.size(); ++step) {
    const auto& [start, end] = spans[step - 1];
    later += spans[step].first - start >= (end - start) / 2 && end > start;
  }
  estimate.is_absolute = spans.size() > 1 && 10 * later >= 9 * (spans.size() - 1);
  for (std::size_t step = 0; step < spans.size(); ++step) {
    estimate.time.push_back(estimate.is_absolute
                                ? spans[step].first - spans[0].first
                                : static_cast<double>(recording.steps[step] - recording.steps[0]));
  }
}

void scale_noise(const std::vector<Component>& components, Series& series) {
  std::vector<double> changes;
  for (const Component& component : components) component.add_changes(changes);
  if (changes.size() < kEnoughChanges) return;
  const double scale = kDeviationOfMedian * take_median(changes);
  for (std::vector<ClockDifference>& own : series) {
    for (ClockDifference& at : own) at.noise_s = std::max(scale * at.noise_s, kLeastSeriesNoiseS);
  }
}

// Both ends of a message end together. The members of a collective may not if one of them is slow, so a clock
// that only collectives show counts as set only if several steps agree.
CourseLimits limits_of(const ClockEstimate& estimate) {
  CourseLimits limits = estimate.is_absolute ? kDrifts : kTrends;
  limits.least_piece = estimate.time.size() < kManySteps ? 2 : 3;
  return limits;
}

std::vector<Component> split(const ClockNetwork& network, Series& series, const ClockEstimate& estimate) {
  const std::vector<std::uint32_t> root = find_components(network);
  std::vector<std::vector<std::uint32_t>> members(network.nodes);
  for (std::uint32_t clock = 0; clock < network.names.size(); ++clock) members[root[clock]].push_back(clock);
  std::vector<Component> components;
  for (const std::vector<std::uint32_t>& clocks : members) {
    if (!clocks.empty()) components.emplace_back(clocks, series, estimate.time, limits_of(estimate), network);
  }
  return components;
}

// Whether the clock exchanges messages with one that does not drift with it.
bool messages_show_drift(const ClockNetwork& network, const ClockEstimate& estimate, const Clock& clock) {
  const auto own = static_cast<std::uint32_t>(&clock - estimate.clocks.data());
  return std::ranges::any_of(network.pairs, [&](const ClockPair& pair) {
    if (pair.worker_b == kMeetingPoint || (pair.a != own && pair.b != own)) return false;
    const Clock& other = estimate.clocks[pair.a == own ? pair.b : pair.a];
    return std::abs(clock.course.slope - other.course.slope) > std::abs(clock.course.slope) / 2;
  });
}

void describe(const Recording& recording, const ClockNetwork& network, ClockEstimate& estimate) {
  for (Clock& clock : estimate.clocks) {
    clock.offset_s = usual_offset(clock.course, estimate.time);
    for (const ClockPiece& piece : clock.course.pieces)
      clock.noise_s = std::max(clock.noise_s, piece.noise_s);
    if (estimate.is_absolute) {
      clock.drift = clock.course.slope;
      const double noise = kSureDrift * clock.course.slope_noise;
      const double recorded_s = estimate.time.back() - estimate.time.front();
      clock.is_drifting = (recorded_s >= kEnoughForDriftS || messages_show_drift(network, estimate, clock)) &&
                          std::abs(*clock.drift) * recorded_s > kWayWorthAligningS &&
                          std::abs(*clock.drift) > std::max(kDriftWorthAligning, noise);
      estimate.needs_aligning = estimate.needs_aligning || clock.is_drifting;
    }
    const auto at = [&](std::size_t step) { return clock.course.offset_s(step, estimate.time[step]); };
    for (std::size_t i = 1; i < clock.course.pieces.size(); ++i) {
      const std::size_t step = clock.course.pieces[i].first_step;
      const ClockJump jump{recording.steps[step], at(step - 1), at(step)};
      if (std::abs(jump.to_s - jump.from_s) > kClockWorthAligningS) clock.jumps.push_back(jump);
    }
    for (std::size_t step = 0; step < estimate.time.size(); ++step) {
      const double offset = std::abs(at(step));
      estimate.largest_s = std::max(estimate.largest_s, offset);
      const double noise = kSureOffset * clock.course.piece_of(step).noise_s;
      estimate.needs_aligning = estimate.needs_aligning || offset > std::max(kClockWorthAligningS, noise);
    }
  }
}

// REQUIRES: the offsets of `estimate`. A meeting point has the median offset of its pairs.
void find_conflicts(const ClockNetwork& network, ClockEstimate& estimate) {
  const std::size_t steps = estimate.time.size();
  std::vector<std::vector<ClockDifference>> off(network.pairs.size());
  std::vector<std::vector<double>> meetings(network.nodes);
  for (std::size_t step = 0; step < steps; ++step) {
    const auto at = [&](std::uint32_t clock) {
      return estimate.clocks[clock].course.offset_s(step, estimate.time[step]);
    };
    const auto differences = network.of_step(step);
    for (std::size_t i = 0; i < network.pairs.size(); ++i) {
      const ClockPair& pair = network.pairs[i];
      double apart = differences[i].seconds - at(pair.a);
      if (pair.worker_b != kMeetingPoint) apart += at(pair.b);
      if (pair.worker_b == kMeetingPoint) meetings[pair.b].push_back(apart);
      off[i].push_back({apart, differences[i].noise_s});
    }
    for (std::size_t i = 0; i < network.pairs.size(); ++i) {
      const std::uint32_t point = network.pairs[i].b;
      if (network.pairs[i].worker_b != kMeetingPoint) continue;
      std::vector<double>& meeting = meetings[point];
      if (meeting.size() > 1) meeting = {take_median(meeting)};
      off[i].back().seconds -= meeting.front();
    }
    for (std::vector<double>& meeting : meetings) meeting.clear();
  }
  for (std::size_t i = 0; i < network.pairs.size(); ++i) {
    const ClockDifference middle = take_middle(off[i]);
    const double sure = kSureConflict * middle.noise_s;
    if (std::abs(middle.seconds) <= std::max(kClockWorthAligningS, sure)) continue;
    ClockConflict conflict{network.pairs[i].worker_a, std::nullopt, middle.seconds};
    if (network.pairs[i].worker_b != kMeetingPoint) conflict.other = network.pairs[i].worker_b;
    estimate.conflicts.push_back(conflict);
  }
  const auto share_a_clock = [&](const ClockConflict& conflict) {
    return conflict.other &&
           estimate.clock_of_worker[conflict.worker] == estimate.clock_of_worker[*conflict.other];
  };
  std::stable_sort(estimate.conflicts.begin(), estimate.conflicts.end(), [&](const auto& x, const auto& y) {
    if (share_a_clock(x) != share_a_clock(y)) return share_a_clock(x);
    return std::abs(x.apart_s) > std::abs(y.apart_s);
  });
}

}  // namespace

ClockEstimate estimate_clocks(const Recording& recording, const OpGraph& graph) {
  const ClockNetwork network = measure_clocks(recording, graph);
  ClockEstimate estimate;
  estimate.clock_of_worker = network.clock_of_worker;
  find_times(recording, estimate);
  Series series = solve_steps(network, recording.steps.size());
  std::vector<Component> components = split(network, series, estimate);
  scale_noise(components, series);
  for (Component& component : components) {
    component.raise_noise();
    component.take_out_common_slope();
  }
  std::vector<ClockCourse> courses(network.names.size());
  for (const Component& component : components) component.fit(courses);
  refit_offsets(network, estimate.time, courses);
  for (const Component& component : components) component.take_reference(courses);
  for (std::size_t clock = 0; clock < courses.size(); ++clock) {
    estimate.clocks.push_back(
        {.name = network.names[clock], .drift = {}, .course = std::move(courses[clock])});
  }
  describe(recording, network, estimate);
  find_conflicts(network, estimate);
  return estimate;
}

std::vector<ClockShift> clock_shifts(const ClockEstimate& estimate, const Recording& recording) {
  std::vector<ClockShift> shifts;
  shifts.reserve(recording.ranks.size() * recording.steps.size());
  for (const std::uint32_t clock : estimate.clock_of_worker) {
    const Clock& own = estimate.clocks[clock];
    for (std::size_t step = 0; step < recording.steps.size(); ++step)
      shifts.push_back({own.course.offset_s(step, estimate.time[step]), own.drift.value_or(0)});
  }
  return shifts;
}

}  // namespace goodput
