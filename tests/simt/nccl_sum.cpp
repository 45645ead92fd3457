#include "tests/simt/nccl_sum.h"

#include <cstdint>
#include <cstring>

namespace simt {

namespace {

template <class Element, class Add>
void add_elements(void* sum, const void* summand, std::size_t bytes, Add add) {
  auto* const to = static_cast<char*>(sum);
  const auto* const from = static_cast<const char*>(summand);
  for (std::size_t at = 0; at < bytes; at += sizeof(Element)) {
    Element a{};
    Element b{};
    std::memcpy(&a, to + at, sizeof a);
    std::memcpy(&b, from + at, sizeof b);
    a = add(a, b);
    std::memcpy(to + at, &a, sizeof a);
  }
}

float float_of(std::uint16_t bf16) {
  const std::uint32_t bits = std::uint32_t{bf16} << 16U;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// To nearest even. Not of NaN, which may become infinity.
std::uint16_t bf16_of(float value) {
  std::uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16U & 1U)) >> 16U);
}

}  // namespace

bool is_summable(ncclDataType_t type) {
  return type == ncclInt32 || type == ncclFloat32 || type == ncclBfloat16;
}

void add_to(void* sum, const void* summand, std::size_t bytes, ncclDataType_t type) {
  if (type == ncclInt32) {
    add_elements<std::uint32_t>(sum, summand, bytes, [](std::uint32_t a, std::uint32_t b) { return a + b; });
  } else if (type == ncclFloat32) {
    add_elements<float>(sum, summand, bytes, [](float a, float b) { return a + b; });
  } else {
    add_elements<std::uint16_t>(sum, summand, bytes, [](std::uint16_t a, std::uint16_t b) {
      return bf16_of(float_of(a) + float_of(b));
    });
  }
}

}  // namespace simt
