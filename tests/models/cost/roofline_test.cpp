// What holds of the roofline whatever its parameters are fitted to: bounds and order.
#include "models/cost/roofline.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "models/cost/collectives.h"
#include "models/plan/training_plan.h"
#include "sim/base/random.h"
#include "tests/models/cost/cost_case.h"

namespace goodput {
namespace {

using doctest::Approx;
using testing::gemm;
using testing::h200;

double flops(const Kernel& kernel) {
  return 2.0 * static_cast<double>(kernel.m) * static_cast<double>(kernel.n) * static_cast<double>(kernel.k);
}

std::int64_t random_dimension(RandomStream& random) {
  return static_cast<std::int64_t>(std::exp2(random.uniform(0, 15)));
}

}  // namespace

TEST_CASE("roofline: no GEMM beats the rated FLOP/s, nor the rated memory bandwidth") {
  const auto [cluster, parameters] = h200();
  const RooflineCost roofline(cluster, parameters);
  double closest = 0;
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "gemm");
    const Kernel kernel = gemm(random_dimension(random), random_dimension(random), random_dimension(random));
    const double seconds = roofline.kernel_seconds(kernel);
    const double bound =
        std::max(flops(kernel) / cluster.gpu.bf16.value, kernel.bytes / cluster.gpu.memory_bandwidth.value);
    closest = std::max(closest, bound / seconds);
    CHECK(seconds >= bound);
  }
  MESSAGE(fmt::format("2000 random GEMMs: at most {:.1f} % of the bound of FLOPs and bytes", 100 * closest));
}

TEST_CASE("roofline: a large square GEMM comes near the efficiency it was given") {
  const auto [cluster, parameters] = h200();
  const Kernel kernel = gemm(16384, 16384, 16384);
  const double reached = flops(kernel) / RooflineCost(cluster, parameters).kernel_seconds(kernel) / 1e12;
  const double promised = parameters.gemm_efficiency * cluster.gpu.bf16.value / 1e12;
  MESSAGE(fmt::format("16384^3: {:.0f} TFLOP/s of {:.0f}", reached, promised));
  CHECK(reached <= promised);
  CHECK(reached > 0.8 * promised);  // whole waves and full tiles: what is lost is filling the pipelines
}

TEST_CASE("roofline: products with unequal numbers of rows leave half a tile empty each") {
  auto [cluster, parameters] = h200();
  cluster.gpu.multiprocessors = 1;  // the GPU is full of any tile
  const RooflineCost roofline(cluster, parameters);
  const double idle = 1e-6 * parameters.kernel_us;
  // 16 products of whole tiles: 8 of 256 rows each, or 16 of 128. Half a tile of 128 x 256 more is the least.
  Kernel product = gemm(2048, 8192, 8192);
  product.batch = 16;
  const double equal = roofline.kernel_seconds(product) - idle;
  product.is_grouped = true;
  CHECK(roofline.kernel_seconds(product) - idle == Approx(equal * 16.5 / 16));
  // Fewer rows than a tile has are a tile, as before.
  product.m = 16;
  const double few = roofline.kernel_seconds(product);
  product.is_grouped = false;
  CHECK(roofline.kernel_seconds(product) == Approx(few));
}

TEST_CASE("roofline: attention over n keys takes as long as n + attention_fill keys at the full rate") {
  auto [cluster, parameters] = h200();
  Kernel attention{.kind = Kernel::Kind::kAttention, .k = 1000, .flops = 1e12};
  const double idle = 1e-6 * parameters.kernel_us;
  const double seconds = RooflineCost(cluster, parameters).kernel_seconds(attention) - idle;
  parameters.attention_fill = 250;
  CHECK(RooflineCost(cluster, parameters).kernel_seconds(attention) - idle == Approx(seconds * 1250 / 1000));
  attention.k = 0;  // unknown length
  CHECK(RooflineCost(cluster, parameters).kernel_seconds(attention) - idle == Approx(seconds));
}

TEST_CASE("roofline: matmuls run at the rate of their precision, or of the nearest one that the GPU has") {
  auto machine = h200();
  ClusterSpec& cluster = machine.cluster;
  RooflineParameters& parameters = machine.lone_kernels;
  cluster.gpu.tf32 = {0.5 * cluster.gpu.bf16.value};
  parameters.fp8_gemm_efficiency = 0;
  const auto seconds = [&](Precision precision) {
    Kernel product = gemm(16384, 16384, 16384);
    product.precision = precision;
    return RooflineCost(cluster, parameters).kernel_seconds(product) - 1e-6 * parameters.kernel_us;
  };
  const double half = seconds(Precision::kBf16);
  CHECK(seconds(Precision::kTf32) == Approx(2 * half));
  CHECK(seconds(Precision::kFp32) == Approx(half * cluster.gpu.bf16.value / cluster.gpu.fp32.value));
  cluster.gpu.tf32.reset();
  CHECK(seconds(Precision::kTf32) == seconds(Precision::kFp32));
  cluster.gpu.fp8.reset();
  CHECK(seconds(Precision::kFp8) == half);
}

TEST_CASE("roofline: more work never takes less time") {
  const auto [cluster, parameters] = h200();
  const RooflineCost roofline(cluster, parameters);
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "more work");
    Kernel memory{.kind = Kernel::Kind::kMemory, .bytes = std::exp2(random.uniform(0, 34))};
    const double moved = roofline.kernel_seconds(memory);
    memory.bytes *= random.uniform(1, 4);
    CHECK(roofline.kernel_seconds(memory) >= moved);
    Kernel attention{
        .kind = Kernel::Kind::kAttention, .flops = std::exp2(random.uniform(0, 50)), .bytes = memory.bytes};
    const double attended = roofline.kernel_seconds(attention);
    attention.flops *= random.uniform(1, 4);
    CHECK(roofline.kernel_seconds(attention) >= attended);
    // Twice as many of the same products: by whole tiles, so no shape gets cheaper.
    Kernel products = gemm(random_dimension(random), random_dimension(random), random_dimension(random));
    const double once = roofline.kernel_seconds(products);
    products.batch = 2;
    products.bytes *= 2;
    CHECK(roofline.kernel_seconds(products) >= once * (1 - 1e-12));
  }
}

TEST_CASE("roofline: kernels take at least what the GPU needs, and what the CPU needs to launch them") {
  const auto [cluster, parameters] = h200();
  const RooflineCost roofline(cluster, parameters);
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    RandomStream random(seed, "sequence");
    std::vector<Kernel> sequence(1 + random.below(40));
    double on_gpu = 0;
    double on_cpu = 0;
    for (Kernel& kernel : sequence) {
      kernel.bytes = std::exp2(random.uniform(0, 28));
      kernel.launches = static_cast<std::int32_t>(1 + random.below(3));
      on_gpu += roofline.kernel_seconds(kernel);
      on_cpu += 1e-6 * parameters.launch_us * kernel.launches;
    }
    const double seconds = roofline.kernels(sequence).seconds;
    CHECK(seconds >= std::max(on_gpu, on_cpu) * (1 - 1e-12));
    CHECK(seconds <= (on_gpu + on_cpu) * (1 + 1e-12));
  }
}

TEST_CASE("roofline: a sequence of tiny kernels is bound by launching them") {
  const auto [cluster, parameters] = h200();
  if (parameters.launch_us <= parameters.kernel_us) return;  // never bound by it
  const std::vector<Kernel> sequence(100, Kernel{.bytes = 1});
  const double closed_form = 100e-6 * parameters.launch_us;
  const double seconds = RooflineCost(cluster, parameters).kernels(sequence).seconds;
  MESSAGE(fmt::format("100 tiny kernels: 100 launches are {:.0f} us, result {:.0f} us", 1e6 * closed_form,
                      1e6 * seconds));
  CHECK(seconds >= closed_form);
  CHECK(seconds < 1.3 * closed_form);
}

TEST_CASE("roofline: no kernels cost nothing; fp8 takes bf16's rate on a GPU without it") {
  auto [cluster, parameters] = h200();
  CHECK(RooflineCost(cluster, parameters).kernels({}).seconds == 0);
  Kernel kernel = gemm(8192, 8192, 8192);
  const double bf16 = RooflineCost(cluster, parameters).kernel_seconds(kernel);
  kernel.precision = Precision::kFp8;
  CHECK(RooflineCost(cluster, parameters).kernel_seconds(kernel) < bf16);
  cluster.gpu.fp8.reset();
  CHECK(RooflineCost(cluster, parameters).kernel_seconds(kernel) == Approx(bf16));
}

TEST_CASE("roofline: collectives are those of the cluster's links, at the lowest tier of its numbers") {
  auto [cluster, parameters] = h200();
  const CollectiveCall call{Collective::kAllReduce, 1e8, {64, 8}, 1};
  cluster.tier = Tier::kDatasheet;
  parameters.tier = Tier::kModel;
  const Cost cost = RooflineCost(cluster, parameters).collective(call);
  CHECK(cost.seconds == collective_seconds(call, cluster));
  CHECK(cost.tier == Tier::kModel);
}

}  // namespace goodput
