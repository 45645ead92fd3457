#include "gpu/bench/ceilings.h"

#include "gpu/bench/copy_case.h"

namespace goodput::gpu::bench {
namespace {

CopyRate measure_kernel(CopyCase& copy, const CopyKernel& kernel, std::uint64_t seed,
                        const Measurer& measurer) {
  copy.fill(seed, measurer.stream());
  const Measurement time =
      measurer.measure({[&](int, cudaStream_t stream) { kernel.run(stream); }, 1, copy.bytes()});
  return {kernel.name, time, gb_per_s(copy.bytes(), time.events.us.median),
          copy.count_wrong(seed, measurer.stream())};
}

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
  CopyCase copy(flow, place_bytes);
  std::uint64_t seed = 0;
  for (const CopyKernel& kernel : copy_kernels(copy.work(), device)) {
    ceiling.tried.push_back(measure_kernel(copy, kernel, seed += kMostPlaces, measurer));
  }
  return ceiling;
}

std::optional<CopyRate> measure_again(const CopyCeiling& ceiling, const CopyDevice& device,
                                      const Measurer& measurer) {
  constexpr std::uint64_t kSeed = 1 << 20;
  const CopyRate* const best = ceiling.best();
  if (best == nullptr) return std::nullopt;
  CopyCase copy(ceiling.flow, ceiling.place_bytes);
  for (const CopyKernel& kernel : copy_kernels(copy.work(), device)) {
    if (kernel.name == best->kernel) return measure_kernel(copy, kernel, kSeed, measurer);
  }
  return std::nullopt;
}

}  // namespace goodput::gpu::bench
