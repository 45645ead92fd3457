// How something changes over the steps of a recording: always the same, in some steps only, or growing.
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

// The standard deviation of one step's value, from how it changes between steps: of slowness that lasts only
// the onset counts, and few of many changes move neither quantile. Of one step: from how peers differ from 1.
[[nodiscard]] double noise_of_steps(const std::vector<std::span<const double>>& series);

// Of one value a step, each with a standard deviation of at least `noise`: least squares of a constant, of a
// window and of a line, the better ones preferred by the Bayesian information criterion with a margin of 10
// ("very strong": Kass & Raftery 1995). Windows and growths of less than `least` (a difference of values) are
// steady. O(steps^2), of more than 2000 steps in groups. REQUIRES: values.
[[nodiscard]] TimePattern find_time_pattern(const std::vector<double>& values, double noise, double least);

// "1.60x", "40x": of 10 and more without decimals.
[[nodiscard]] std::string times_text(double factor);

// For people: "1.60 from step 12 to 14, else 1.00", "1.60 from step 12 on, 1.00 before (onset, 95 %: 11 to
// 13)", "grows from 1.01 to 1.49 over 20 steps"; nothing where it is steady. `steps`: numbers, by index.
[[nodiscard]] std::string describe(const TimePattern& pattern, const std::vector<std::int64_t>& steps);

}  // namespace goodput
