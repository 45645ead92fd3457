// How surely a rate is known from a count of independent events.
#pragma once

#include <cstdint>

namespace goodput {

// Events over exposure, with the exact 95 % interval (Garwood 1936). `per`: exposure that the rate is per.
struct EventRate {
  double events = 0;
  double value = 0, low = 0, high = 0;
};

// REQUIRES: exposure > 0. `clumping`: variance over mean of the count; above 1 when events come in groups,
// which leaves the information of events / clumping independent ones.
[[nodiscard]] EventRate event_rate(double events, double exposure, double per, double clumping = 1);

// The probability of `count` or more events where `expected` are expected.
[[nodiscard]] double chance_of_at_least(std::int64_t count, double expected);

}  // namespace goodput
