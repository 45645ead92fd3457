// Units by type. Simulated time is integer nanoseconds; sizes, work and rates are distinct types that do not
// mix.
//
// `Bytes{8} / BytesPerSecond{4e9}` is a SimDuration; `Bytes{8} + SimDuration{1}` does not compile.
#pragma once

#include <chrono>
#include <cmath>
#include <compare>
#include <cstdint>

namespace goodput {

using SimDuration = std::chrono::nanoseconds;

// The clock of a simulation: it starts at 0 and has no relation to wall-clock time.
struct SimClock {
  using duration = SimDuration;
  using rep = duration::rep;
  using period = duration::period;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};
using SimTime = SimClock::time_point;

// Nearest nanosecond, ties to even. REQUIRES: |seconds| < 292 years.
[[nodiscard]] inline SimDuration from_seconds(double seconds) {
  return std::chrono::round<SimDuration>(std::chrono::duration<double>(seconds));
}
[[nodiscard]] constexpr double to_seconds(SimDuration duration) {
  return std::chrono::duration<double>(duration).count();
}
[[nodiscard]] constexpr double to_seconds(SimTime time) {
  return to_seconds(time.time_since_epoch());
}

// Node-nanoseconds: a thousand nodes for a year do not fit 64 bits.
__extension__ using NodeTime = __int128;

[[nodiscard]] constexpr double node_seconds(NodeTime time) {
  return static_cast<double>(time) / 1e9;
}

// A number with a unit: adds to and compares with its own kind, scales by a plain number.
template <typename Tag, typename Rep>
struct Quantity {
  Rep value{};

  friend constexpr auto operator<=>(const Quantity&, const Quantity&) = default;
  friend constexpr Quantity operator+(Quantity a, Quantity b) { return {a.value + b.value}; }
  friend constexpr Quantity operator-(Quantity a, Quantity b) { return {a.value - b.value}; }
  friend constexpr Quantity operator*(Quantity a, Rep factor) { return {a.value * factor}; }
  friend constexpr Quantity operator*(Rep factor, Quantity a) { return {a.value * factor}; }
  friend constexpr double operator/(Quantity a, Quantity b) {
    return static_cast<double>(a.value) / static_cast<double>(b.value);
  }
};

using Bytes = Quantity<struct BytesTag, std::int64_t>;
using Flops = Quantity<struct FlopsTag, double>;                    // floating-point operations, a count
using BytesPerSecond = Quantity<struct BytesPerSecondTag, double>;  // bytes, never bits
using FlopsPerSecond = Quantity<struct FlopsPerSecondTag, double>;

// What memory is sold in: 2^30 bytes.
[[nodiscard]] constexpr double in_gib(Bytes bytes) {
  return static_cast<double>(bytes.value) / (std::int64_t{1} << 30);
}

// REQUIRES: a positive rate.
[[nodiscard]] inline SimDuration operator/(Bytes size, BytesPerSecond rate) {
  return from_seconds(static_cast<double>(size.value) / rate.value);
}
[[nodiscard]] inline SimDuration operator/(Flops work, FlopsPerSecond rate) {
  return from_seconds(work.value / rate.value);
}

}  // namespace goodput
