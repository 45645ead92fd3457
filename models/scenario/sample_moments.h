// Of values of independent trials what confidence intervals of their mean rest on.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>

namespace goodput {

inline constexpr double kConfidence = 0.95;

struct SampleMoments {
  std::int64_t count = 0;
  double mean = 0;
  double standard_error = 0;  // of the mean; exactly 0 of a single value and of equal ones
  double skewness = 0;        // adjusted Fisher-Pearson G1; 0 of fewer than three values and of equal ones
  double least = 0;
};

// Linear time; large offsets and many values cost no digits, very large or small scatter does not overflow.
// REQUIRES: values, finite, and so is their sum.
[[nodiscard]] SampleMoments sample_moments(std::span<const double> values);

// t with |T| <= t in 95 % of cases; T of Student's distribution with count - 1 degrees of freedom ("Student",
// Biometrika 1908). REQUIRES: count > 1.
[[nodiscard]] double student_t(std::int64_t count);

// Of the mean, from Student's t; none of a single value.
[[nodiscard]] std::optional<std::array<double, 2>> student_interval(const SampleMoments& moments);

// Whether Student's interval of the mean cannot be trusted: n <= 25 G1^2 (Cochran, Sampling Techniques, 3rd
// edition 1977, section 2.15), or fewer than ten values, from which nobody can see whether they are skewed.
// Equal values are never doubtful.
[[nodiscard]] bool is_doubtful(const SampleMoments& moments);

}  // namespace goodput
