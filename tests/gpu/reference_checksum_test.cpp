// The checksum, against values of SplitMix64, and what it is there for.
#include "gpu/reference_checksum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>

namespace goodput::gpu::reference {
namespace {

// The first two numbers that SplitMix64 gives from seed 0, as published with its reference code: mix(step)
// and mix(2 * step).
constexpr std::uint64_t kFirst = 0xe220a8397b1dcdaf;
constexpr std::uint64_t kSecond = 0x6e789e6aa1b965f4;

TEST_CASE("checksum: of nothing it is mix(0), which is 0") {
  CHECK(checksum({}) == 0);
}

TEST_CASE("checksum: of zeros it is SplitMix64's own numbers and mix of the length") {
  constexpr std::uint64_t kMixOf8 = 0xd56b1fbb9ceba9e8;  // computed apart, with Python's integers
  constexpr std::uint64_t kMixOf16 = 0xd9844bcecca4a8bd;
  CHECK(checksum(std::vector<unsigned char>(8)) == kMixOf8 + kFirst);
  CHECK(checksum(std::vector<unsigned char>(16)) == kMixOf16 + kFirst + kSecond);
  CHECK(checksum(std::vector<unsigned char>(5)) != kMixOf8 + kFirst);  // the same word, another length
}

TEST_CASE("checksum: every single byte changed, any two words exchanged, and a byte left out are noticed") {
  std::mt19937_64 random(1);
  std::vector<unsigned char> state(203);
  for (unsigned char& byte : state) byte = static_cast<unsigned char>(random());
  std::set<std::uint64_t> sums{checksum(state)};
  std::size_t states = 1;
  const auto add = [&](const std::vector<unsigned char>& changed) {
    sums.insert(checksum(changed));
    ++states;
  };
  for (std::size_t i = 0; i < state.size(); ++i) {
    for (const int flipped : {0x01, 0x80, 0xff}) {
      std::vector<unsigned char> changed = state;
      changed[i] = static_cast<unsigned char>(changed[i] ^ flipped);
      add(changed);
    }
  }
  for (std::size_t a = 0; a < state.size() / 8; ++a) {
    for (std::size_t b = a + 1; b < state.size() / 8; ++b) {
      std::vector<unsigned char> changed = state;
      std::swap_ranges(changed.begin() + static_cast<std::ptrdiff_t>(8 * a),
                       changed.begin() + static_cast<std::ptrdiff_t>(8 * a + 8),
                       changed.begin() + static_cast<std::ptrdiff_t>(8 * b));
      add(changed);
    }
  }
  state.pop_back();
  add(state);
  CHECK(sums.size() == states);
}

}  // namespace
}  // namespace goodput::gpu::reference
