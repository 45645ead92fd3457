#include "gpu/reference_checksum.h"

#include <cstddef>
#include <cstdint>

namespace goodput::gpu::reference {
namespace {

std::uint64_t split_mix(std::uint64_t z) {
  z = (z ^ (z >> 30U)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27U)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31U);
}

}  // namespace

std::uint64_t checksum(const std::vector<unsigned char>& bytes) {
  constexpr std::size_t kWord = 8;
  std::uint64_t sum = split_mix(bytes.size());
  std::uint64_t counter = 0;
  for (std::size_t begin = 0; begin < bytes.size(); begin += kWord) {
    std::uint64_t word = 0;
    for (std::size_t i = kWord; i-- > 0;) {
      word = word << 8U | (begin + i < bytes.size() ? bytes[begin + i] : 0U);
    }
    counter += 0x9e3779b97f4a7c15U;
    sum += split_mix(word + counter);
  }
  return sum;
}

}  // namespace goodput::gpu::reference
