#include "gpu/calibrate/norm_sweep.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

#include "gpu/calibrate/norm_case.h"
#include "gpu/calibrate/norm_reference.h"
#include "tests/gpu/sweep_case.h"

namespace goodput::gpu::calibrate {
namespace {

TEST_CASE("norm: the reference is the formula, by hand") {
  // x = 1, 3: mean 2, variance 1; mean square 5.
  const NormedRow layer = reference_norm(NormKind::kLayer, {1, 3});
  CHECK(layer.mean == 2);
  CHECK(layer.rstd == doctest::Approx(1).epsilon(1e-5));
  const NormedRow rms = reference_norm(NormKind::kRms, {1, 3});
  CHECK(rms.mean == 0);
  CHECK(rms.rstd == doctest::Approx(1 / std::sqrt(5.0)).epsilon(1e-5));
  const std::vector<double> y = reference_norm_forward(layer, {10, 20}, {1, 2});
  CHECK(y[0] == doctest::Approx(-9).epsilon(1e-4));
  CHECK(y[1] == doctest::Approx(22).epsilon(1e-4));
}

TEST_CASE("norm: the reference's gradient is the slope of the reference") {
  const std::vector<double> x = {0.3, -1.2, 2.5, 0.7};
  const std::vector<double> weight = {1.5, -0.5, 2, 1};
  const std::vector<double> dy = {0.2, 1, -0.7, 0.4};
  const std::vector<double> none(4);
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    INFO(name_of(kind));
    const auto loss = [&](const std::vector<double>& at) {
      const std::vector<double> y = reference_norm_forward(reference_norm(kind, at), weight, none);
      double sum = 0;
      for (std::size_t i = 0; i < y.size(); ++i) sum += dy[i] * y[i];
      return sum;
    };
    const std::vector<double> dx = reference_norm_backward(kind, reference_norm(kind, x), weight, dy);
    for (std::size_t i = 0; i < x.size(); ++i) {
      constexpr double kStep = 1e-5;
      std::vector<double> above = x;
      std::vector<double> below = x;
      above[i] += kStep;
      below[i] -= kStep;
      CHECK(dx[i] == doctest::Approx((loss(above) - loss(below)) / (2 * kStep)).epsilon(1e-6));
    }
  }
}

TEST_CASE("norm: what is off by more than two roundings is wrong, and so is no number") {
  CHECK(is_normed_right(1 + 1.0 / 512, 1));
  CHECK_FALSE(is_normed_right(1 + 1.0 / 200, 1));
  CHECK_FALSE(is_normed_right(std::nan(""), 1));
  CHECK(is_summed_right(0.01, 0, 100));
  CHECK_FALSE(is_summed_right(0.1, 0, 100));
  CHECK_FALSE(is_summed_right(std::nan(""), 0, 100));
}

// Ends of rows in the middle of a warp and of a block; several rows a block, and fewer rows than blocks.
TEST_CASE("norm: both norms and their gradients are right for rows of any length") {
  const Stream stream;
  for (const NormKind kind : {NormKind::kRms, NormKind::kLayer}) {
    for (const NormPass pass : {NormPass::kForward, NormPass::kBackward}) {
      for (const std::int64_t hidden : {8, 256, 264, 7168, 8192}) {
        const std::int64_t tokens = hidden > 1000 ? 3 : 300;
        INFO(name_of(kind), " hidden ", hidden, pass == NormPass::kForward ? " forward" : " backward");
        NormCase norm({kind, tokens, hidden}, pass, 1, stream.get());
        CHECK(norm.count_wrong(stream) == 0);
      }
    }
  }
}

// A mean of 4 and deviations of a quarter: what forgot the mean would be wrong in every element.
TEST_CASE("norm: layer norm takes the mean away first") {
  const Stream stream;
  std::vector<Bf16> x;
  std::vector<double> values;
  for (int i = 0; i < 64; ++i) {
    x.push_back(from_float<Bf16>(4 + static_cast<float>(i % 9 - 4) / 16));
    values.push_back(double{to_float(x.back())});
  }
  const DeviceBuffer<Bf16> rows = upload(x);
  const DeviceBuffer<Bf16> weight = upload(std::vector<Bf16>(64, from_float<Bf16>(1)));
  const DeviceBuffer<Bf16> bias = upload(std::vector<Bf16>(64, from_float<Bf16>(0)));
  DeviceBuffer<Bf16> y(64);
  DeviceBuffer<float> mean(1);
  DeviceBuffer<float> rstd(1);
  norm_forward({NormKind::kLayer, 1, 64},
               {rows.data(), weight.data(), bias.data(), y.data(), mean.data(), rstd.data()}, 1,
               stream.get());
  stream.synchronize();
  const NormedRow expected = reference_norm(NormKind::kLayer, values);
  CHECK(double{download(mean.data(), 1)[0]} == doctest::Approx(expected.mean));
  CHECK(double{download(rstd.data(), 1)[0]} == doctest::Approx(expected.rstd));
  const std::vector<Bf16> found = download(y.data(), 64);
  for (std::size_t i = 0; i < 64; ++i) CHECK(is_normed_right(double{to_float(found[i])}, expected.normal[i]));
}

// The gradients of w and b of 40 rows of 64 elements, of which all means and deviations are 1.
struct GradientSums {
  std::vector<double> x;  // dy, too
  std::vector<Bf16> of_w_and_b;
};
GradientSums gradient_sums(int multiprocessors) {
  const Stream stream;
  const NormShape shape{NormKind::kLayer, 40, 64};
  std::vector<Bf16> data(40 * 64);
  GradientSums sums;
  for (std::size_t i = 0; i < data.size(); ++i) {
    data[i] = from_float<Bf16>(std::sin(static_cast<float>(i)));
    sums.x.push_back(double{to_float(data[i])});
  }
  const DeviceBuffer<Bf16> rows = upload(data);
  const DeviceBuffer<float> ones = upload(std::vector<float>(40, 1.0F));
  DeviceBuffer<Bf16> dx(data.size());
  DeviceBuffer<Bf16> gradients(2 * 64);
  DeviceBuffer<float> partial(norm_partial_elements(shape, multiprocessors));
  norm_backward(shape,
                {rows.data(), rows.data(), rows.data(), ones.data(), ones.data(), dx.data(), gradients.data(),
                 gradients.data() + 64, partial.data()},
                multiprocessors, stream.get());
  stream.synchronize();
  sums.of_w_and_b = download(gradients.data(), 2 * 64);
  return sums;
}

TEST_CASE("norm: weight gradients are sums over all rows, of one block or of more than there are warps") {
  for (const int multiprocessors : {1, 100}) {
    const GradientSums found = gradient_sums(multiprocessors);
    for (std::size_t column = 0; column < 64; ++column) {
      double of_w = 0;
      double of_b = 0;
      for (std::size_t row = 0; row < 40; ++row) {
        const double value = found.x[row * 64 + column];
        of_w += value * (value - 1);
        of_b += value;
      }
      CHECK(is_summed_right(double{to_float(found.of_w_and_b[column])}, of_w, 10));
      CHECK(is_summed_right(double{to_float(found.of_w_and_b[64 + column])}, of_b, 10));
    }
  }
}

TEST_CASE("norm: the same launch gives the same sums, in any order of threads") {
  const auto bits = [] {
    std::vector<unsigned> all;
    for (const Bf16 value : gradient_sums(100).of_w_and_b) all.push_back(value.bits);
    return all;
  };
  const std::vector<unsigned> ascending = bits();
  simt::set_schedule({simt::Order::kRandom, 3});
  const std::vector<unsigned> random = bits();
  simt::set_schedule({});
  CHECK(random == ascending);
}

TEST_CASE("norm: rows and addresses that no vector fits are refused") {
  const Stream stream;
  const auto refused = [&](std::int64_t hidden) {
    norm_forward({NormKind::kRms, 1, hidden}, {}, 1, stream.get());
  };
  CHECK_THROWS_WITH(refused(12), "norm: a row has 12 elements; it must have a multiple of 8, at most 8192");
  CHECK_THROWS_WITH(refused(8200),
                    "norm: a row has 8200 elements; it must have a multiple of 8, at most 8192");
  CHECK_THROWS_WITH(static_cast<void>(norm_partial_elements({NormKind::kRms, 1, 0}, 1)),
                    "norm: a row has 0 elements; it must have a multiple of 8, at most 8192");
  const DeviceBuffer<Bf16> rows(64);
  NormForward odd{};
  odd.x = rows.data() + 1;
  CHECK_THROWS_WITH(norm_forward({NormKind::kRms, 1, 8}, odd, 1, stream.get()),
                    "norm: addresses must be multiples of 16 bytes");
}

TEST_CASE("norm sweep: both norms, both passes, three widths, 256 to 65536 tokens, in 25 s for two rounds") {
  const Sweep sweep = norm_sweep(Sizes::kFull);
  check_names_differ(sweep);
  CHECK(sweep.points.size() == 2 * 2 * 3 * 9);
  CHECK(text_of(sweep.points[0].key) == "norm kind=rms hidden=4096 dtype=bf16 tokens=256");
  CHECK(text_of(sweep.points[9].key) == "norm kind=rms hidden=4096 dtype=bf16 backward tokens=256");
  MESSAGE(two_rounds_s(sweep), " s");
  CHECK(two_rounds_s(sweep) <= 25);
}

TEST_CASE("norm sweep: small ones are right") {
  visit_all(norm_sweep(Sizes::kQuick));
}

TEST_CASE("norm sweep: a pass moves its rows once") {
  CHECK(norm_bytes({NormKind::kRms, 10, 100}, NormPass::kForward) == 2 * 2000);
  CHECK(norm_bytes({NormKind::kLayer, 10, 100}, NormPass::kBackward) == 3 * 2000);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
