// Reproducible random numbers: a stream is keyed by (seed, name, id), so that a new consumer never shifts the
// draws of another and two policies can face the same failures (common random numbers).
//
// The generator and the distributions are written out because std:: distributions differ between libraries.
#pragma once

#include <cstdint>
#include <string_view>

namespace goodput {

class RandomStream {
 public:
  RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t id = 0);

  std::uint64_t bits();                          // uniform over all 64-bit values
  double uniform();                              // [0, 1), 53 random bits
  double uniform(double low, double high);       // [low, high)
  std::uint64_t below(std::uint64_t bound);      // 0 .. bound-1 without bias. REQUIRES: bound > 0
  double exponential(double rate);               // mean 1/rate, by inverse transform. REQUIRES: rate > 0
  double normal(double mean, double deviation);  // Box-Muller, one of the pair

 private:
  std::uint64_t state_[4];  // xoshiro256++ (Blackman and Vigna, 2019)
};

}  // namespace goodput
