#include "sim/causes/time_pattern.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/base/statistics.h"

namespace goodput {
namespace {

constexpr double kVeryStrong = 10;  // of the information criterion
constexpr double kHalfChiSquare = 1.92;
constexpr std::size_t kFewestSteps = 4;
constexpr std::size_t kMostSteps = 2000;  // for the search over pairs of steps; beyond, in groups

constexpr double kDeviationOfNinetieth = 1 / 1.645;  // of normal noise: over the 90 % quantile of its size

double take_quantile(std::vector<double>& values, double quantile) {
  const auto at =
      values.begin() + static_cast<std::ptrdiff_t>(quantile * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), at, values.end());
  return *at;
}

// Sums over the first n values, for means and squared errors of any part in O(1).
class PrefixSums {
 public:
  explicit PrefixSums(const std::vector<double>& values)
      : sum_(values.size() + 1), square_(values.size() + 1) {
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum_[i + 1] = sum_[i] + values[i];
      square_[i + 1] = square_[i] + values[i] * values[i];
    }
  }
  [[nodiscard]] std::size_t size() const { return sum_.size() - 1; }
  [[nodiscard]] double sum(std::size_t begin, std::size_t end) const { return sum_[end] - sum_[begin]; }
  [[nodiscard]] double squares() const { return square_.back(); }

 private:
  std::vector<double> sum_;
  std::vector<double> square_;
};

struct Window {
  std::size_t begin = 0;
  std::size_t end = 0;
  double inside = 0;
  double outside = 0;
  double error = std::numeric_limits<double>::infinity();  // squared, of all values
};

Window fit_window(const PrefixSums& sums, std::size_t begin, std::size_t end) {
  const std::size_t n = sums.size();
  Window window{begin, end};
  const double in = sums.sum(begin, end);
  const double out = sums.sum(0, n) - in;
  const auto in_count = static_cast<double>(end - begin);
  const double out_count = static_cast<double>(n) - in_count;
  window.inside = in / in_count;
  window.outside = out / out_count;
  window.error = sums.squares() - in * window.inside - out * window.outside;
  return window;
}

// The window with the least error among those that are higher inside.
Window best_window(const PrefixSums& sums) {
  Window best;
  for (std::size_t begin = 0; begin < sums.size(); ++begin) {
    for (std::size_t end = begin + 1; end <= sums.size(); ++end) {
      if (end - begin == sums.size()) continue;
      const Window window = fit_window(sums, begin, end);
      if (window.inside > window.outside && window.error < best.error) best = window;
    }
  }
  return best;
}

struct Line {
  double first = 0;  // at the first value
  double slope = 0;  // a value
  double error = 0;
};

Line fit_line(const std::vector<double>& values) {
  const auto n = static_cast<double>(values.size());
  const double middle = (n - 1) / 2;
  const double average = mean(values);
  double xx = 0;
  double xy = 0;
  double yy = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double x = static_cast<double>(i) - middle;
    xx += x * x;
    xy += x * (values[i] - average);
    yy += (values[i] - average) * (values[i] - average);
  }
  const double slope = xy / xx;
  return {average - slope * middle, slope, std::max(0.0, yy - slope * xy)};
}

// n log(error / n) + parameters log(n). An error is never less than noise makes it: few values fit well by
// chance.
double criterion(double error, double noise, std::size_t n, int parameters) {
  const auto count = static_cast<double>(n);
  return count * std::log(std::max(error / count, noise * noise)) + parameters * std::log(count);
}

// The steps that might be the onset as well, with the end of the window as it is.
void find_onset_range(const PrefixSums& sums, const Window& best, double noise, TimePattern& pattern) {
  const auto count = static_cast<double>(sums.size());
  const double variance = std::max(best.error / count, noise * noise);
  pattern.onset_low = pattern.onset_high = best.begin;
  for (std::size_t begin = 0; begin < best.end; ++begin) {
    if (best.end - begin == sums.size()) continue;
    const double worse = fit_window(sums, begin, best.end).error - best.error;
    if (worse / (2 * variance) > kHalfChiSquare) continue;
    pattern.onset_low = std::min(pattern.onset_low, begin);
    pattern.onset_high = std::max(pattern.onset_high, begin);
  }
}

// Means of `group` values in a row.
std::vector<double> grouped(const std::vector<double>& values, std::size_t group) {
  std::vector<double> means;
  for (std::size_t first = 0; first < values.size(); first += group) {
    const std::size_t end = std::min(values.size(), first + group);
    double sum = 0;
    for (std::size_t i = first; i < end; ++i) sum += values[i];
    means.push_back(sum / static_cast<double>(end - first));
  }
  return means;
}

TimePattern find_in(const std::vector<double>& values, double noise, double least) {
  TimePattern pattern;
  pattern.last = values.size() - 1;
  pattern.low = pattern.high = mean(values);
  if (values.size() < kFewestSteps) return pattern;
  const PrefixSums sums(values);
  const double average = pattern.low;
  const double constant =
      criterion(sums.squares() - sums.sum(0, sums.size()) * average, noise, values.size(), 1);
  const Window window = best_window(sums);
  const Line line = fit_line(values);
  const double of_window = criterion(window.error, noise, values.size(), 4);
  const double of_line = criterion(line.error, noise, values.size(), 2);
  if (constant - std::min(of_window, of_line) < kVeryStrong) return pattern;
  const double rise = line.slope * static_cast<double>(values.size() - 1);
  if (of_line < of_window) {
    if (rise < least) return pattern;
    pattern.kind = TimePattern::Kind::kGrowth;
    pattern.low = line.first;
    pattern.high = line.first + rise;
    pattern.onset_high = 0;
    return pattern;
  }
  if (window.inside - window.outside < least) return pattern;
  pattern.kind = TimePattern::Kind::kWindow;
  pattern.first = window.begin;
  pattern.last = window.end - 1;
  pattern.low = window.outside;
  pattern.high = window.inside;
  find_onset_range(sums, window, noise, pattern);
  return pattern;
}

}  // namespace

double TimePattern::at(std::size_t step) const {
  if (kind == Kind::kSteady) return low;
  if (kind == Kind::kWindow) return step >= first && step <= last ? high : low;
  const auto length = static_cast<double>(std::max<std::size_t>(1, last - first));
  return low + (high - low) * static_cast<double>(step - first) / length;
}

double noise_of_steps(const std::vector<std::span<const double>>& series) {
  std::vector<double> changes;
  double scale = 1 / std::sqrt(2.0);
  for (const auto& values : series) {
    for (std::size_t step = 1; step < values.size(); ++step)
      changes.push_back(std::abs(values[step] - values[step - 1]));
  }
  if (changes.empty()) {
    scale = 1;
    for (const auto& values : series) changes.push_back(std::abs(values.front() - 1));
  }
  return scale * std::max(kDeviationOfMedian * take_quantile(changes, 0.5),
                          kDeviationOfNinetieth * take_quantile(changes, 0.9));
}

TimePattern find_time_pattern(const std::vector<double>& values, double noise, double least) {
  constexpr double kRounding = 1e-9;
  noise = std::max(noise, kRounding);
  const std::size_t group = (values.size() + kMostSteps - 1) / kMostSteps;
  if (group <= 1) return find_in(values, noise, least);
  TimePattern pattern = find_in(grouped(values, group), noise / std::sqrt(static_cast<double>(group)), least);
  pattern.first *= group;
  pattern.last = std::min(values.size() - 1, (pattern.last + 1) * group - 1);
  pattern.onset_low *= group;
  pattern.onset_high = std::min(values.size() - 1, (pattern.onset_high + 1) * group - 1);
  return pattern;
}

std::string times_text(double factor) {
  return factor < 10 ? fmt::format("{:.2f}x", factor) : fmt::format("{:.0f}x", factor);
}

std::string describe(const TimePattern& pattern, const std::vector<std::int64_t>& steps) {
  if (pattern.kind == TimePattern::Kind::kSteady) return "";
  if (pattern.kind == TimePattern::Kind::kGrowth) {
    return fmt::format("grows from {:.2f} to {:.2f} over {} steps", pattern.low, pattern.high,
                       pattern.last - pattern.first + 1);
  }
  const std::int64_t first = steps[pattern.first];
  const std::int64_t last = steps[pattern.last];
  std::string text;
  if (pattern.last + 1 == steps.size()) {
    text = fmt::format("{:.2f} from step {} on, {:.2f} before", pattern.high, first, pattern.low);
  } else if (first == last) {
    text = fmt::format("{:.2f} in step {}, otherwise {:.2f}", pattern.high, first, pattern.low);
  } else {
    text = fmt::format("{:.2f} from step {} to {}, otherwise {:.2f}", pattern.high, first, last, pattern.low);
  }
  if (pattern.onset_low == pattern.onset_high) return text;
  return fmt::format("{} (onset in steps {} to {} at 95 % confidence)", text, steps[pattern.onset_low],
                     steps[pattern.onset_high]);
}

}  // namespace goodput
