// The check of products, against products by hand.
#include "gpu/calibrate/product_data.h"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

namespace goodput::gpu::calibrate {
namespace {

template <class T>
std::vector<float> filled(MatrixType type, MatrixFill fill, std::int64_t count, std::uint64_t seed) {
  const Stream stream;
  DeviceBuffer<T> data(static_cast<std::size_t>(count));
  fill_matrix(data.data(), type, count, fill, seed, stream.get());
  stream.synchronize();
  std::vector<float> values;
  for (const T value : download(data.data(), data.size())) values.push_back(to_float(value));
  return values;
}

TEST_CASE("product data: exact fills are the numbers that the check expects, in both types") {
  const std::vector<float> bf16 = filled<Bf16>(MatrixType::kBf16, MatrixFill::kExact, 1000, 7);
  CHECK(bf16 == filled<E4m3>(MatrixType::kFp8, MatrixFill::kExact, 1000, 7));
  CHECK(bf16 != filled<Bf16>(MatrixType::kBf16, MatrixFill::kExact, 1000, 8));
  std::set<float> seen;
  for (std::size_t i = 0; i < bf16.size(); ++i) {
    CHECK(bf16[i] == static_cast<float>(exact_value(7, static_cast<std::int64_t>(i))));
    seen.insert(bf16[i]);
  }
  CHECK(seen == std::set<float>{-2, -1, 1, 2});
}

TEST_CASE("product data: dense fills have all mantissas of [0.5, 2) and both signs") {
  const auto distinct = [](const std::vector<float>& values) {
    for (const float value : values) {
      CHECK(std::abs(value) >= 0.5F);
      CHECK(std::abs(value) < 2);
    }
    return std::set<float>(values.begin(), values.end()).size();
  };
  CHECK(distinct(filled<Bf16>(MatrixType::kBf16, MatrixFill::kDense, 10'000, 1)) == 2 * 2 * 128);
  CHECK(distinct(filled<E4m3>(MatrixType::kFp8, MatrixFill::kDense, 10'000, 1)) == 2 * 2 * 8);
}

// As it lies in memory: element (row, column) of a `rows` x `columns` matrix, or of one that is transposed.
int exact_at(std::uint64_t seed, bool turned, std::int64_t rows, std::int64_t columns, std::int64_t row,
             std::int64_t column) {
  return exact_value(seed, turned ? column * rows + row : row * columns + column);
}

std::vector<Bf16> product_by_hand(const ExactProduct& product) {
  const GemmShape& s = product.shape;
  std::vector<Bf16> y;
  for (std::int64_t i = 0; i < s.m; ++i) {
    for (std::int64_t j = 0; j < s.n; ++j) {
      int sum = 0;
      for (std::int64_t p = 0; p < s.k; ++p) {
        sum += exact_at(product.seed_a, s.layout == OperandLayout::kWgrad, s.m, s.k, i, p) *
               exact_at(product.seed_b, s.layout == OperandLayout::kForward, s.k, s.n, p, j);
      }
      y.push_back(from_float<Bf16>(static_cast<float>(sum)));
    }
  }
  return y;
}

TEST_CASE("product data: of a small product all is looked at, and what is wrong is counted") {
  const Stream stream;
  for (const OperandLayout layout : {OperandLayout::kForward, OperandLayout::kDgrad, OperandLayout::kWgrad}) {
    INFO(name_of(layout));
    const ExactProduct product{{5, 7, 70, MatrixType::kBf16, layout}, 3, 4};
    std::vector<Bf16> y = product_by_hand(product);
    CHECK(count_wrong_products(product, upload(y).data(), stream) == 0);
    y[0] = from_float<Bf16>(to_float(y[0]) + 1);
    y[34].bits = 0x7fff;  // NaN
    CHECK(count_wrong_products(product, upload(y).data(), stream) == 2);
  }
}

TEST_CASE("product data: of a large product the last element and others are looked at") {
  const Stream stream;
  const ExactProduct product{{1000, 700, 1}, 1, 2};  // an element is hit by one in 170
  std::vector<Bf16> y = product_by_hand(product);
  CHECK(count_wrong_products(product, upload(y).data(), stream) == 0);
  y.back() = from_float<Bf16>(1000);
  CHECK(count_wrong_products(product, upload(y).data(), stream) == 1);
  const std::vector<Bf16> none(y.size(), from_float<Bf16>(1000));
  CHECK(count_wrong_products(product, upload(none).data(), stream) == kProductSamples);
}

TEST_CASE("product data: an operand may begin within what was filled") {
  const Stream stream;
  ExactProduct product{{1, 1, 1}, 5, 6};
  product.first_a = 10;
  product.first_b = 20;
  const std::vector<Bf16> y = {from_float<Bf16>(static_cast<float>(exact_value(5, 10) * exact_value(6, 20)))};
  CHECK(count_wrong_products(product, upload(y).data(), stream) == 0);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
