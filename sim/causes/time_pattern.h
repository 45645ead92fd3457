// How a value changes over the steps of a recording: steady, raised in some steps only, or growing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace goodput {

struct TimePattern {
  enum class Kind : std::uint8_t {
    kSteady,
    kWindow,  // from one step to another
    kGrowth,  // more from step to step
  };
  Kind kind = Kind::kSteady;
  // Indices of steps: where the window or the growth begins and ends, both inclusive. A window that reaches
  // the last step has not ended.
  std::size_t first = 0;
  std::size_t last = 0;
  // With 95 % confidence the onset lies in these steps (the likelihood of no other falls short of the best
  // by more than exp(1.92), half the 95 % quantile of chi-square with one degree of freedom).
  std::size_t onset_low = 0;
  std::size_t onset_high = 0;
  double low = 1;   // outside the window; at the beginning of the growth
  double high = 1;  // inside the window; at its end

  [[nodiscard]] double at(std::size_t step) const;
};

// The standard deviation of one step's value, estimated robustly from the changes between steps: the larger
// of the estimates from their median and from their 90 % quantile. Lasting slowness changes the value only at
// its onset, so it hardly counts as noise. With a single step, from the distances of the peers to 1.
[[nodiscard]] double noise_of_steps(const std::vector<std::span<const double>>& series);

// Fits a constant, a window and a line by least squares to one value per step, each with a standard deviation
// of at least `noise`. A window or line needs a margin of 10 in the Bayesian information criterion ("very
// strong": Kass & Raftery 1995), and a change of at least `least`. Takes O(steps^2) time; more than 2000
// steps are averaged in groups. REQUIRES: values.
[[nodiscard]] TimePattern find_time_pattern(const std::vector<double>& values, double noise, double least);

// "1.60x", "40x"; without decimals from 10 on.
[[nodiscard]] std::string times_text(double factor);

// For people: "1.60 from step 12 to 14, otherwise 1.00", "1.60 from step 12 on, 1.00 before (onset in steps
// 11 to 13 at 95 % confidence)", "grows from 1.01 to 1.49 over 20 steps"; empty if it is steady. `steps`
// holds the step numbers by index.
[[nodiscard]] std::string describe(const TimePattern& pattern, const std::vector<std::int64_t>& steps);

}  // namespace goodput
