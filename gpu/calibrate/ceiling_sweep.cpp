#include "gpu/calibrate/ceiling_sweep.h"

#include "gpu/bench/copy_case.h"

namespace goodput::gpu::calibrate {
namespace {

constexpr std::uint64_t kCeilingSeed = 7;
constexpr double kUsualBytesPerUs = 4e6;  // of an H200, read and written

std::int64_t place_bytes_of(const bench::CopyFlow& flow, Sizes sizes) {
  constexpr std::int64_t kPlaceBytes = 491'520'000;  // 15,000 times 32 KiB
  if (sizes == Sizes::kQuick) return 65'536;
  return flow.writes == 1 ? 2 * kPlaceBytes : kPlaceBytes;
}

Visit visit_copy(const bench::CopyFlow& flow, std::int64_t place_bytes, std::size_t which,
                 const CopyDevice& device, PointMeasurer& measurer, Checking checking) {
  bench::CopyCase copy(flow, place_bytes);
  copy.fill(kCeilingSeed, measurer.stream());
  const bench::CopyKernel kernel = bench::copy_kernels(copy.work(), device).at(which);
  Visit visit = measurer.measure({[&](int, cudaStream_t stream) { kernel.run(stream); }, 1, copy.bytes()});
  if (checking == Checking::kYes) visit.nwrong = copy.count_wrong(kCeilingSeed, measurer.stream());
  return visit;
}

}  // namespace

Sweep ceiling_sweep(Sizes sizes, const CopyDevice& device) {
  Sweep sweep{"ceilings", {}, {}};
  for (const auto& [flow, name] : {std::pair(bench::CopyFlow{1, 1}, "copy_1r1w_gb_per_s"),
                                   std::pair(bench::CopyFlow{1, 8}, "copy_1r8w_gb_per_s")}) {
    const std::int64_t place_bytes = place_bytes_of(flow, sizes);
    const double bytes = static_cast<double>(place_bytes * (flow.reads + flow.writes));
    const bench::CopyFlow copied = flow;
    // Of no memory: only their names are looked at.
    const auto kernels = bench::copy_kernels({nullptr, nullptr, 0, 0, flow}, device);
    for (std::size_t which = 0; which < kernels.size(); ++which) {
      const PointKey key{
          {"ceiling", {{"name", std::string(name)}, {"kernel", kernels[which].name}}}, "bytes", place_bytes};
      sweep.points.push_back({key, visit_estimate_s(bytes / kUsualBytesPerUs, 10),
                              [=](PointMeasurer& measurer, Checking checking) {
                                return visit_copy(copied, place_bytes, which, device, measurer, checking);
                              },
                              CeilingWork{name, bytes}});
    }
  }
  return sweep;
}

}  // namespace goodput::gpu::calibrate
