#include "models/cost/roofline.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "models/cost/collectives.h"
#include "models/cost/cost_models.h"

namespace goodput {
namespace {

// What a thread block computes, and how close to the best rate a GPU full of such blocks comes. The sizes are
// among those that NVIDIA's "Matrix Multiplication Background User's Guide" lists for cuBLAS ("Typical Tile
// Dimensions in cuBLAS and Performance"), from the most to the least efficient. The efficiencies are assumed:
// for each byte it reads, a 128 x 64 tile does two thirds of the work of a 128 x 128 one and a 64 x 64 tile
// half, and caches make up for some of that.
struct Tile {
  double rows;
  double columns;
  double efficiency;
};
constexpr std::array<Tile, 6> kTiles = {
    {{256, 128, 1}, {128, 256, 1}, {128, 128, 1}, {128, 64, 0.8}, {64, 128, 0.8}, {64, 64, 0.6}}};
// Two bounds near each other add up a little: (a^q + b^q)^(1/q). The q is assumed: two equal bounds make 1.19
// times one of them.
constexpr double kBlend = 4;

// Tiles on the diagonal are computed in full although half of each is masked, and each block of queries takes
// time to start. Both count as `fill` more keys per query.
double attention_flops(const Kernel& kernel, double fill) {
  if (kernel.k == 0) return kernel.flops;
  return kernel.flops * (1 + fill / static_cast<double>(kernel.k));
}

// If products have unequal m, the last tile of each is half full on average.
double tiles_of_rows(const Kernel& kernel, const Tile& tile) {
  const double tiles = static_cast<double>(kernel.m) / tile.rows;
  return kernel.is_grouped ? std::max(1.0, tiles + 0.5) : std::ceil(tiles);
}

double blended_max(double a, double b) {
  const double high = std::max(a, b);
  if (!(high > 0)) return 0;
  return high * std::pow(1 + std::pow(std::min(a, b) / high, kBlend), 1 / kBlend);
}

}  // namespace

double RooflineCost::gemm_seconds(const Kernel& kernel) const {
  const auto batch = static_cast<double>(kernel.batch);
  const auto n = static_cast<double>(kernel.n);
  const auto k = static_cast<double>(kernel.k);
  const GpuSpec& gpu = cluster_.gpu;
  const double memory = gpu.memory_bandwidth.value * parameters_.memory_efficiency;
  const FlopsPerSecond rated = gpu.rated(kernel.precision);
  const bool has_own = kernel.precision == Precision::kFp8 && gpu.fp8 && parameters_.fp8_gemm_efficiency > 0;
  double rate = rated.value * (has_own ? parameters_.fp8_gemm_efficiency : parameters_.gemm_efficiency);
  // Tensor cores read 8 elements of a row at a time; half as many cost half of it (in logarithms). How many
  // rows there are does not matter.
  const std::int64_t extents = kernel.n | kernel.k;
  if (extents % 4 != 0) {
    rate *= parameters_.misaligned_efficiency;
  } else if (extents % 8 != 0) {
    rate *= std::sqrt(parameters_.misaligned_efficiency);
  }
  double best = std::numeric_limits<double>::infinity();
  for (const Tile& tile : kTiles) {
    const double tiles = batch * tiles_of_rows(kernel, tile) * std::ceil(n / tile.columns);
    // Less than a full GPU takes as long as a full one; beyond, thread blocks follow each other without
    // waves.
    const double busy = std::max(tiles, static_cast<double>(gpu.multiprocessors));
    const double flops = busy * tile.rows * tile.columns * 2 * (k + parameters_.gemm_fill);
    best = std::min(best, flops / (rate * tile.efficiency));
  }
  return std::max(best, kernel.bytes / memory);
}

double RooflineCost::kernel_seconds(const Kernel& kernel) const {
  const double memory = kernel.bytes / (cluster_.gpu.memory_bandwidth.value * parameters_.memory_efficiency);
  const double idle = 1e-6 * parameters_.kernel_us * kernel.launches;
  switch (kernel.kind) {
    case Kernel::Kind::kGemm:
      return gemm_seconds(kernel) + idle;
    case Kernel::Kind::kAttention:
      return std::max(memory,
                      attention_flops(kernel, parameters_.attention_fill) /
                          (cluster_.gpu.rated(kernel.precision).value * parameters_.attention_efficiency)) +
             idle;
    case Kernel::Kind::kMemory:
      return memory + idle;
  }
  GOODPUT_CHECK(false, "unknown kernel kind");
}

Cost RooflineCost::kernels(std::span<const Kernel> sequence) const {
  double on_gpu = 0;
  double on_cpu = 0;
  for (const Kernel& kernel : sequence) {
    on_gpu += kernel_seconds(kernel);
    on_cpu += 1e-6 * parameters_.launch_us * kernel.launches;
  }
  return {blended_max(on_gpu, on_cpu), lowest(cluster_.tier, parameters_.tier)};
}

Cost RooflineCost::collective(const CollectiveCall& call) const {
  return {collective_seconds(call, cluster_), lowest(cluster_.tier, parameters_.tier)};
}

CostModelInfo cost_model_roofline() {
  return {
      .name = "roofline",
      .summary =
          "kernels from FLOPs, bytes and the GPU's ratings; collectives from latency and bandwidth of links",
      .make = [](const CostInputs& inputs) -> Result<std::unique_ptr<CostModel>> {
        return std::unique_ptr<CostModel>(std::make_unique<RooflineCost>(inputs.cluster, inputs.roofline));
      }};
}

}  // namespace goodput
