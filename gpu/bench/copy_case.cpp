#include "gpu/bench/copy_case.h"

namespace goodput::gpu::bench {
namespace {

constexpr std::int64_t kBytesOfBf16 = sizeof(Bf16);

}  // namespace

CopyCase::CopyCase(const CopyFlow& flow, std::int64_t place_bytes)
    : flow_(flow),
      elements_(place_bytes / kBytesOfBf16),
      stride_(place_stride(place_bytes) / kBytesOfBf16),
      from_(static_cast<std::size_t>(stride_ * flow.reads)),
      to_(static_cast<std::size_t>(stride_ * flow.writes)) {}

CopyWork CopyCase::work() {
  constexpr std::int64_t kElements = 16 / kBytesOfBf16;
  return {reinterpret_cast<const uint4*>(from_.data()), reinterpret_cast<uint4*>(to_.data()),
          elements_ / kElements, stride_ / kElements, flow_};
}

std::int64_t CopyCase::bytes() const {
  return elements_ * kBytesOfBf16 * (flow_.reads + flow_.writes);
}

void CopyCase::fill(std::uint64_t seed, const Stream& stream) {
  for (int place = 0; place < flow_.reads; ++place) {
    fill_payload(from_.data() + place * stride_, elements_, seed + static_cast<std::uint64_t>(place),
                 stream.get());
  }
}

std::uint64_t CopyCase::count_wrong(std::uint64_t seed, const Stream& stream) const {
  std::uint64_t nwrong = 0;
  for (int place = 0; place < flow_.writes; ++place) {
    nwrong += count_wrong_payload(to_.data() + place * stride_, elements_, {seed, flow_.reads}, stream);
  }
  return nwrong;
}

}  // namespace goodput::gpu::bench
