// A 64-bit content hash for reports and random streams: stable across machines, not cryptographic.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <span>
#include <string_view>

namespace goodput {

// The finalizer of splitmix64 (Steele, Lea and Flood, 2014): a bijection in which every input bit moves every
// output bit.
constexpr std::uint64_t mix64(std::uint64_t x) {
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

class Hash {
 public:
  template <std::integral T>
  void add(T value) {
    state_ = mix64(state_ * 0x9e3779b97f4a7c15U + static_cast<std::uint64_t>(value));
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(std::string_view text) {
    for (const char c : text) add(c);
    add(text.size());
  }
  void add(std::span<const double> values);
  [[nodiscard]] std::uint64_t value() const { return state_; }

 private:
  std::uint64_t state_ = 0x243f6a8885a308d3U;  // the fraction of pi
};

}  // namespace goodput
