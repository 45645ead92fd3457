#include "gpu/calibrate/norm_sweep.h"

#include "gpu/bench/traffic.h"
#include "gpu/calibrate/norm_case.h"

namespace goodput::gpu::calibrate {
namespace {

Visit visit_norm(const NormShape& shape, NormPass pass, PointMeasurer& measurer, Checking checking) {
  const std::int64_t bytes = norm_bytes(shape, pass);
  const int sets = bench::sets_for(bytes);
  NormCase norm(shape, pass, sets, measurer.stream().get());
  std::optional<std::uint64_t> nwrong;
  if (checking == Checking::kYes) nwrong = norm.count_wrong(measurer.stream());
  Visit visit = measurer.measure({[&](int set, cudaStream_t stream) { norm.run(set, stream); }, sets, bytes});
  visit.nwrong = nwrong;
  visit.source = "kernels of gpu/calibrate/norm_kernels.h";
  return visit;
}

double norm_estimate_s(std::int64_t bytes) {
  constexpr double kBytesPerUs = 0.7 * 4.8e6;
  constexpr double kLaunchesUs = 5;
  // Memory is had and given back, and rows looked at; filling writes 1 GB in 2 ms.
  constexpr double kMemoryMs = 8;
  constexpr double kFillMsPerByte = 2e-9;
  const auto moved = static_cast<double>(bytes);
  return visit_estimate_s(kLaunchesUs + moved / kBytesPerUs,
                          kMemoryMs + kFillMsPerByte * moved * bench::sets_for(bytes));
}

void add_norm_points(Sweep& sweep, std::int64_t hidden, std::int64_t least, std::int64_t most) {
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const NormPass pass : {NormPass::kForward, NormPass::kBackward}) {
      TableKey table{
          "norm", {{"kind", std::string(name_of(kind))}, {"hidden", hidden}, {"dtype", std::string("bf16")}}};
      if (pass == NormPass::kBackward) table.params.push_back({"backward", true});
      for (std::int64_t tokens = least; tokens <= most; tokens *= 2) {
        const NormShape shape{kind, tokens, hidden};
        sweep.points.push_back({{table, "tokens", tokens},
                                norm_estimate_s(norm_bytes(shape, pass)),
                                [shape, pass](PointMeasurer& measurer, Checking checking) {
                                  return visit_norm(shape, pass, measurer, checking);
                                },
                                {}});
      }
    }
  }
}

}  // namespace

Sweep norm_sweep(Sizes sizes) {
  Sweep sweep{"norm", {}, {}};
  if (sizes == Sizes::kQuick) {
    add_norm_points(sweep, 264, 4, 4);
    return sweep;
  }
  for (const std::int64_t hidden : {4096, 7168, 8192}) add_norm_points(sweep, hidden, 256, 65'536);
  return sweep;
}

}  // namespace goodput::gpu::calibrate
