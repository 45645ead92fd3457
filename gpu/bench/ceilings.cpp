#include "gpu/bench/ceilings.h"

#include "gpu/bench/copy_kernels.h"
#include "gpu/bench/payload.h"

namespace goodput::gpu::bench {
namespace {

constexpr std::int64_t kElementBytes = sizeof(Bf16);

class CeilingCase {
 public:
  CeilingCase(const CopyFlow& flow, std::int64_t place_bytes)
      : flow_(flow),
        elements_(place_bytes / kElementBytes),
        stride_(place_stride(place_bytes) / kElementBytes),
        from_(static_cast<std::size_t>(stride_ * flow.reads)),
        to_(static_cast<std::size_t>(stride_ * flow.writes)) {}

  [[nodiscard]] CopyWork work() {
    constexpr std::int64_t kElements = 16 / kElementBytes;
    return {reinterpret_cast<const uint4*>(from_.data()), reinterpret_cast<uint4*>(to_.data()),
            elements_ / kElements, stride_ / kElements, flow_};
  }

  // On data of its own seed: what another kernel left behind is wrong for this one.
  [[nodiscard]] CopyRate measure(const CopyKernel& kernel, std::uint64_t seed, const Measurer& measurer) {
    for (int place = 0; place < flow_.reads; ++place) {
      fill_payload(from_.data() + place * stride_, elements_, seed + static_cast<std::uint64_t>(place),
                   measurer.stream().get());
    }
    const std::int64_t bytes = elements_ * kElementBytes * (flow_.reads + flow_.writes);
    const Measurement time =
        measurer.measure({[&](int, cudaStream_t stream) { kernel.run(stream); }, 1, bytes});
    std::uint64_t nwrong = 0;
    for (int place = 0; place < flow_.writes; ++place) {
      nwrong += count_wrong_payload(to_.data() + place * stride_, elements_, {seed, flow_.reads},
                                    measurer.stream());
    }
    return {kernel.name, time, gb_per_s(bytes, time.events.us.median), nwrong};
  }

 private:
  CopyFlow flow_;
  std::int64_t elements_;  // of a place
  std::int64_t stride_;    // elements
  DeviceBuffer<Bf16> from_;
  DeviceBuffer<Bf16> to_;
};

}  // namespace

const CopyRate* CopyCeiling::best() const {
  const CopyRate* best = nullptr;
  for (const CopyRate& rate : tried) {
    if (rate.nwrong == 0 && (best == nullptr || rate.gb_per_s > best->gb_per_s)) best = &rate;
  }
  return best;
}

std::uint64_t CopyCeiling::nwrong() const {
  std::uint64_t sum = again ? again->nwrong : 0;
  for (const CopyRate& rate : tried) sum += rate.nwrong;
  return sum;
}

std::optional<double> CopyCeiling::drift() const {
  const CopyRate* const first = best();
  if (first == nullptr || !again) return std::nullopt;
  return again->gb_per_s / first->gb_per_s - 1;
}

CopyCeiling measure_copy_ceiling(const CopyFlow& flow, std::int64_t place_bytes, const CopyDevice& device,
                                 const Measurer& measurer) {
  CopyCeiling ceiling{flow, place_bytes, {}, {}};
  CeilingCase ceiling_case(flow, place_bytes);
  std::uint64_t seed = 0;
  for (const CopyKernel& kernel : copy_kernels(ceiling_case.work(), device)) {
    ceiling.tried.push_back(ceiling_case.measure(kernel, seed += kMostPlaces, measurer));
  }
  return ceiling;
}

std::optional<CopyRate> measure_again(const CopyCeiling& ceiling, const CopyDevice& device,
                                      const Measurer& measurer) {
  constexpr std::uint64_t kSeed = 1 << 20;
  const CopyRate* const best = ceiling.best();
  if (best == nullptr) return std::nullopt;
  CeilingCase ceiling_case(ceiling.flow, ceiling.place_bytes);
  for (const CopyKernel& kernel : copy_kernels(ceiling_case.work(), device)) {
    if (kernel.name == best->kernel) return ceiling_case.measure(kernel, kSeed, measurer);
  }
  return std::nullopt;
}

}  // namespace goodput::gpu::bench
