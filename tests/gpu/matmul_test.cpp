// Products of the emulator's stand-in, by hand.
#include "gpu/calibrate/matmul.h"

#include <doctest/doctest.h>

#include "gpu/calibrate/e4m3.h"
#include "gpu/device_memory.h"
#include "gpu/graph.h"

namespace goodput::gpu::calibrate {
namespace {

std::vector<Bf16> numbers(const std::vector<float>& values) {
  std::vector<Bf16> data;
  for (const float value : values) data.push_back(from_float<Bf16>(value));
  return data;
}

// A = 1 2 3   B = 1 0    A B =  4  6
//     4 5 6       0 3          10 15
//                 1 0
const std::vector<float> kProduct = {4, 6, 10, 15};

std::vector<float> product_of(OperandLayout layout, const std::vector<float>& a,
                              const std::vector<float>& b) {
  const Stream stream;
  const DeviceBuffer<Bf16> left = upload(numbers(a));
  const DeviceBuffer<Bf16> right = upload(numbers(b));
  DeviceBuffer<Bf16> y(4);
  const Gemm gemm({2, 2, 3, MatrixType::kBf16, layout});
  gemm.run({left.data(), right.data(), y.data()}, 0, stream.get());
  stream.synchronize();
  std::vector<float> result;
  for (const Bf16 value : download(y.data(), 4)) result.push_back(to_float(value));
  return result;
}

TEST_CASE("matmul: the layouts are those of a linear layer's forward pass and of its gradients") {
  const std::vector<float> a = {1, 2, 3, 4, 5, 6};
  const std::vector<float> a_turned = {1, 4, 2, 5, 3, 6};
  const std::vector<float> b = {1, 0, 0, 3, 1, 0};
  const std::vector<float> b_turned = {1, 0, 1, 0, 3, 0};
  CHECK(product_of(OperandLayout::kForward, a, b_turned) == kProduct);
  CHECK(product_of(OperandLayout::kDgrad, a, b) == kProduct);
  CHECK(product_of(OperandLayout::kWgrad, a_turned, b) == kProduct);
}

TEST_CASE("matmul: a captured product runs when the graph does, and only then") {
  const Stream stream;
  const DeviceBuffer<Bf16> a = upload(numbers({2}));
  const DeviceBuffer<Bf16> b = upload(numbers({3}));
  DeviceBuffer<Bf16> y = upload(numbers({0}));
  const Gemm gemm({1, 1, 1});
  const Graph graph(stream.get(), [&] { gemm.run({a.data(), b.data(), y.data()}, 0, stream.get()); });
  stream.synchronize();
  CHECK(to_float(download(y.data(), 1)[0]) == 0);
  graph.launch(stream.get());
  CHECK(to_float(download(y.data(), 1)[0]) == 6);
}

TEST_CASE("matmul: experts are multiplied with weights of their own, one without rows with none") {
  const Stream stream;
  const DeviceBuffer<Bf16> x = upload(numbers({1, 2, 3}));
  const DeviceBuffer<Bf16> w = upload(numbers({10, 100, 1000}));
  DeviceBuffer<Bf16> y(3);
  const GroupedGemm gemm({1, 1, {1, 0, 2}}, {{x.data(), w.data(), y.data()}});
  gemm.run(0, stream.get());
  stream.synchronize();
  std::vector<float> result;
  for (const Bf16 value : download(y.data(), 3)) result.push_back(to_float(value));
  CHECK(result == std::vector<float>{10, 2000, 3008});  // 3000 in 8 bits: 2992 or 3008, the even one
  CHECK(gemm.shape().all_rows() == 3);
  CHECK(gemm.shape().flops() == 6);
  CHECK(gemm.shape().bytes() == 2 * (2 + 3 * 2));  // two weights, three rows of x and y
}

std::vector<float> grouped_product(const GroupedShape& shape, const std::vector<float>& a,
                                   const std::vector<float>& b) {
  CHECK(shape.a_elements() == static_cast<std::int64_t>(a.size()));
  CHECK(shape.b_elements() == static_cast<std::int64_t>(b.size()));
  const Stream stream;
  const DeviceBuffer<Bf16> left = upload(numbers(a));
  const DeviceBuffer<Bf16> right = upload(numbers(b));
  DeviceBuffer<Bf16> y =
      upload(numbers(std::vector<float>(static_cast<std::size_t>(shape.y_elements()), -1)));
  const GroupedGemm gemm(shape, {{left.data(), right.data(), y.data()}});
  gemm.run(0, stream.get());
  stream.synchronize();
  std::vector<float> result;
  for (const Bf16 value : download(y.data(), y.size())) result.push_back(to_float(value));
  return result;
}

// Expert 0 has rows dy = (1, 2), (3, 4), x = 5, 6 and W = 7 over 8; expert 1 has none, and W = 9 over 10;
// expert 2 has dy = (1, 0), x = 2 and W = 3 over 4: n = 2, k = 1.
TEST_CASE("matmul: gradients of experts are of their own rows, and one without rows has none") {
  const std::vector<float> dy = {1, 2, 3, 4, 1, 0};
  const std::vector<float> w = {7, 8, 9, 10, 3, 4};
  // dy W: 7 + 16, 21 + 32; 3
  CHECK(grouped_product({2, 1, {2, 0, 1}, OperandLayout::kDgrad}, dy, w) == std::vector<float>{23, 53, 3});
  // dy^T x: 5 + 18 and 10 + 24; nothing written; 2 and 0
  CHECK(grouped_product({2, 1, {2, 0, 1}, OperandLayout::kWgrad}, dy, {5, 6, 2}) ==
        std::vector<float>{23, 34, -1, -1, 2, 0});
  CHECK(GroupedShape{2, 1, {2, 0, 1}, OperandLayout::kWgrad}.products().size() == 2);
  CHECK(text_of(GroupedShape{2, 1, {2, 0, 1}, OperandLayout::kWgrad}.products()[1].product) ==
        "bf16 wgrad m=2 n=1 k=1");
}

TEST_CASE("matmul: e4m3 is as its table says") {
  const auto value = [](int bits) { return to_float(E4m3{static_cast<std::uint8_t>(bits)}); };
  CHECK(value(0x00) == 0);
  CHECK(value(0x01) == 0x1p-9F);
  CHECK(value(0x07) == 7 * 0x1p-9F);
  CHECK(value(0x08) == 0x1p-6F);
  CHECK(value(0x38) == 1);
  CHECK(value(0x3c) == 1.5F);
  CHECK(value(0xc0) == -2);
  CHECK(value(0x7e) == 448);
}

TEST_CASE("matmul: a shape says its name, its FLOPs and its bytes") {
  const GemmShape fp8{16, 4096, 14336, MatrixType::kFp8};
  CHECK(text_of(fp8) == "fp8 m=16 n=4096 k=14336");
  CHECK(text_of({1, 2, 3, MatrixType::kBf16, OperandLayout::kDgrad}) == "bf16 dgrad m=1 n=2 k=3");
  CHECK(fp8.flops() == 2.0 * 16 * 4096 * 14336);
  CHECK(fp8.bytes() == 16 * 14336 + 14336 * 4096 + 2 * 16 * 4096);
}

TEST_CASE("matmul: products of gradients are not in fp8") {
  CHECK_THROWS_WITH_AS(Gemm({16, 16, 16, MatrixType::kFp8, OperandLayout::kWgrad}),
                       "a plain loop has no answer for fp8 wgrad m=16 n=16 k=16", MatmulError);
}

}  // namespace
}  // namespace goodput::gpu::calibrate
