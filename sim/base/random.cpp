#include "sim/base/random.h"

#include <bit>
#include <cmath>
#include <numbers>

#include "sim/base/hash.h"

namespace goodput {

RandomStream::RandomStream(std::uint64_t seed, std::string_view name, std::uint64_t id) {
  Hash key;
  key.add(seed);
  key.add(name);
  key.add(id);
  std::uint64_t counter = key.value();
  for (auto& word : state_) word = mix64(counter += 0x9e3779b97f4a7c15U);  // splitmix64
}

std::uint64_t RandomStream::bits() {
  const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
  const std::uint64_t shifted = state_[1] << 17;
  state_[2] ^= state_[0];
  state_[3] ^= state_[1];
  state_[1] ^= state_[2];
  state_[0] ^= state_[3];
  state_[2] ^= shifted;
  state_[3] = std::rotl(state_[3], 45);
  return result;
}

double RandomStream::uniform() {
  return static_cast<double>(bits() >> 11) * 0x1p-53;
}

double RandomStream::uniform(double low, double high) {
  return low + (high - low) * uniform();
}

std::uint64_t RandomStream::below(std::uint64_t bound) {
  const std::uint64_t unbiased = (0 - bound) % bound;  // values below this would favour small results
  std::uint64_t draw = bits();
  while (draw < unbiased) draw = bits();
  return draw % bound;
}

double RandomStream::exponential(double rate) {
  return -std::log1p(-uniform()) / rate;
}

double RandomStream::normal(double mean, double deviation) {
  const double radius = std::sqrt(-2.0 * std::log1p(-uniform()));
  return mean + deviation * radius * std::cos(2.0 * std::numbers::pi * uniform());
}

}  // namespace goodput
