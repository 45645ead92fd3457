// Which distribution repair times follow: maximum-likelihood fits of three laws, compared by BIC.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace goodput {

enum class RepairLaw : std::uint8_t { kExponential, kWeibull, kLognormal };
inline constexpr std::array<std::string_view, 3> kRepairLawNames = {"exponential", "weibull", "lognormal"};
[[nodiscard]] constexpr std::string_view to_string(RepairLaw law) {
  return kRepairLawNames[static_cast<std::size_t>(law)];
}

struct RepairTime {
  double seconds = 0;       // above 0
  bool is_complete = true;  // false: the node was still down after this time (censored)
};

struct RepairFit {
  RepairLaw law = RepairLaw::kExponential;
  double mean_s = 0;
  double shape = 0;  // Weibull: the shape; lognormal: the standard deviation of the logarithm
  double log_likelihood = 0;
  double bic = 0;  // k ln n - 2 ln L: the smallest is best
};

// The fits that exist, by ascending BIC. Censored times count by the probability of surviving them. Weibull
// and lognormal need two different complete times; none at all: there is no complete time.
[[nodiscard]] std::vector<RepairFit> fit_repair_laws(std::span<const RepairTime> times);

// The mean of the Kaplan-Meier estimate up to the longest time: the plain mean if no time is open.
[[nodiscard]] double mean_repair(std::span<const RepairTime> times);

// The median of the Kaplan-Meier estimate; infinity: more than half of the times are open ones.
[[nodiscard]] double median_repair(std::span<const RepairTime> times);

}  // namespace goodput
