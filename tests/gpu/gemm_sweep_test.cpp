#include "gpu/calibrate/gemm_sweep.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "gpu/calibrate/gemm_case.h"
#include "tests/gpu/sweep_case.h"

namespace goodput::gpu::calibrate {
namespace {

std::size_t points_with(const Sweep& sweep, const std::string& text) {
  const auto& all = sweep.points;
  return static_cast<std::size_t>(std::count_if(all.begin(), all.end(), [&](const SweepPoint& point) {
    return (text_of(point.key) + " ").find(text + " ") != std::string::npos;
  }));
}

TEST_CASE("gemm sweep: every family from 16 to 16384 rows, fp8 and gradients besides") {
  const Sweep sweep = gemm_sweep(Sizes::kFull);
  check_names_differ(sweep);
  // 11 powers of two; 24 families in bf16, 10 in fp8, 3 in each of two other layouts.
  CHECK(sweep.points.size() == 11 * (24 + 10 + 2 * 3));
  CHECK(points_with(sweep, "gemm n=4096 k=14336 dtype=bf16") == 3 * 11);
  CHECK(points_with(sweep, "gemm n=4096 k=14336 dtype=bf16 layout=dgrad") == 11);
  CHECK(points_with(sweep, "gemm n=4096 k=14336 dtype=bf16 layout=wgrad m=16384") == 1);
  CHECK(points_with(sweep, "gemm n=24576 k=1536 dtype=fp8 m=16") == 1);
  CHECK(points_with(sweep, "gemm n=256 k=7168 dtype=fp8") == 0);
}

TEST_CASE("gemm sweep: two rounds take 110 s at most") {
  const double seconds = two_rounds_s(gemm_sweep(Sizes::kFull));
  MESSAGE(seconds, " s");
  CHECK(seconds <= 110);
  CHECK(seconds > 50);
}

TEST_CASE("gemm sweep: what is small is right in every type and layout") {
  visit_all(gemm_sweep(Sizes::kQuick));
}

TEST_CASE("gemm sweep: the ceiling is the best of eight answers, and of fewer the last is taken again") {
  CHECK(gemm_ceiling_points(Sizes::kFull).size() == 8);
  const Sweep ceilings{"ceilings", gemm_ceiling_points(Sizes::kQuick), {}};
  check_names_differ(ceilings);
  CHECK(text_of(ceilings.points[1].key) == "ceiling name=gemm_bf16_tflops kernel=answer 2");
  REQUIRE(ceilings.points[0].ceiling);
  CHECK(ceilings.points[0].ceiling->name == "gemm_bf16_tflops");
  CHECK(ceilings.points[0].ceiling->amount == 2.0 * 32 * 32 * 32);
  visit_all(ceilings);
}

TEST_CASE("gemm case: a product that is wrong is counted") {
  const Stream stream;
  const GemmShape shape{16, 32, 48};
  GemmData data(shape, 1);
  CHECK(count_wrong(Gemm(shape), 0, data.operands(0), stream) == 0);
  // 16 columns of the result are never written: of the poison, 0xa5a5, or what was there before.
  const GemmShape narrow{16, 16, 48};
  const ExactProduct expected{shape, 1000, 1001};
  Gemm(narrow).run(data.operands(0), 0, stream.get());
  CHECK(count_wrong_products(expected, data.operands(0).y, stream) > 100);
}

TEST_CASE("gemm case: small operands rotate over 256 MB, large ones need not") {
  CHECK(gemm_sets({16, 4096, 4096}) == 8);  // 33.8 MB
  CHECK(gemm_sets({16384, 128256, 4096}) == 1);
}

TEST_CASE("gemm case: an estimate is a launch and what the ratings allow, at 0.7 of them") {
  // 692.3e6 FLOPs and 3.36e6 bytes a us.
  CHECK(product_estimate_us(692.3e6, 0, MatrixType::kBf16) == doctest::Approx(3 + 1));
  CHECK(product_estimate_us(692.3e6, 0, MatrixType::kFp8) == doctest::Approx(3 + 989.0 / 1979));
  CHECK(product_estimate_us(0, 6'720'000, MatrixType::kBf16) == doctest::Approx(3 + 2));
}

}  // namespace
}  // namespace goodput::gpu::calibrate
